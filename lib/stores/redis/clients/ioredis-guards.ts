/**
 * Two guards against a client of ioredis or iovalkey itself: it could end the process, and it would
 * refuse a server that forbids INFO.
 */
import type { Emitter } from './redis-client.js';

/** The part of a client that is guarded. */
export interface GuardedIoredis extends Emitter {
  readonly stream?: Pick<Emitter, 'on'>;
  /** The check whether a new connection is ready calls it. */
  info?: (hear: (error: Error | null, text?: string) => void) => Promise<unknown>;
}

export function guard(client: GuardedIoredis): void {
  ignoreLaterErrors(client);
  goOnWithoutInfo(client);
  // A Cluster has a client for each node.
  client.on('+node', guard);
}

/**
 * ioredis hears the first error of a stream alone. With TLS a second one may follow, as when a
 * connection is closed in the midst of its handshake, and would end the process.
 */
function ignoreLaterErrors(client: GuardedIoredis): void {
  const watched = new WeakSet<object>();
  client.on('error', () => {
    const { stream } = client;
    if (stream === undefined || watched.has(stream)) return;
    watched.add(stream);
    stream.on('error', () => undefined);
  });
}

/**
 * A server that forbids INFO would be warned of on the console, and one that does not know it never
 * be ready. What it means is told by our scripts. (Without the check a stranger that closes each
 * connection would be sent the same command for ever.)
 */
function goOnWithoutInfo(client: GuardedIoredis): void {
  const { info } = client;
  client.info = (hear) =>
    info!.call(client, (error, text) => {
      const isForbidden = error !== null && /^NOPERM|unknown command/i.test(error.message);
      if (isForbidden) hear(null, '');
      else hear(error, text);
    });
}
