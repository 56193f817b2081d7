/**
 * What a client of ioredis is kept from: ending the process, and what it makes of a server that
 * forbids INFO.
 */

/** The part of a client that is guarded. */
export interface GuardedIoredis {
  /** Asked by the check whether a new connection is ready. */
  info?: (hear: (error: Error | null, told?: string) => void) => Promise<unknown>;
  readonly stream?: { on(event: 'error', listener: () => void): unknown };
  on(event: string, listener: (argument: never) => void): unknown;
}

/**
 * ioredis hears the first error of a stream alone. With TLS a second one may follow, as when a
 * connection is closed in the midst of its handshake, and would end the process.
 */
export function ignoreLaterErrors(client: GuardedIoredis): void {
  const watched = new WeakSet<object>();
  const watch = ({ stream }: GuardedIoredis): void => {
    if (stream === undefined || watched.has(stream)) return;
    watched.add(stream);
    stream.on('error', () => undefined);
  };
  client.on('error', () => watch(client));
  // A Cluster has a client for each node.
  client.on('+node', (node: GuardedIoredis) => node.on('error', () => watch(node)));
}

/**
 * A server that forbids INFO would be warned of on the console, and one that does not know it never
 * be ready. What it means is told by our scripts. (Without the check a stranger that closes each
 * connection would be sent the same command for ever.)
 */
export function goOnWithoutInfo(client: GuardedIoredis): void {
  const { info } = client;
  client.info = (hear) =>
    info!.call(client, (error, told) => {
      const isForbidden = error !== null && /^NOPERM|unknown command/i.test(error.message);
      if (isForbidden) hear(null, '');
      else hear(error, told);
    });
  // A Cluster has a client for each node.
  client.on('+node', goOnWithoutInfo);
}
