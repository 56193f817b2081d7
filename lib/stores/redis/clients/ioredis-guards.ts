/**
 * Two guards against problems of the ioredis or iovalkey client itself. It could end the process,
 * and it would reject a server that forbids INFO.
 */
import type { Emitter } from './redis-client.js';

/** The part of a client that is guarded. */
export interface GuardedIoredis extends Emitter {
  readonly stream?: Pick<Emitter, 'on'>;
  /** The readiness check of a new connection calls it. */
  info?: (hear: (error: Error | null, text?: string) => void) => Promise<unknown>;
}

export function guard(client: GuardedIoredis): void {
  // A Cluster has a client for each node.
  client.on('+node', guard);
  // ioredis handles only the first error of a stream. With TLS, a second one may follow, for
  // example if a connection closes during its handshake, and would end the process.
  const watched = new WeakSet<object>();
  client.on('error', () => {
    const { stream } = client;
    if (stream === undefined || watched.has(stream)) return;
    watched.add(stream);
    stream.on('error', () => undefined);
  });
  // Otherwise, ioredis prints a warning if a server forbids INFO, and a server without INFO never
  // becomes ready. The scripts report the consequence. Without the check, a foreign server that
  // closes each connection would receive the same command forever.
  const { info } = client;
  client.info = (hear) =>
    info!.call(client, (error, text) => {
      const isForbidden = error !== null && /^NOPERM|unknown command/i.test(error.message);
      if (isForbidden) hear(null, '');
      else hear(error, text);
    });
}
