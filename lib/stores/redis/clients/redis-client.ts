/**
 * The one client that the rest of this room knows, and what each library of clients does for it:
 * know its own clients by their shape, say where they lead, and make ours.
 *
 * Guarantee: the application's client is neither used for commands nor closed. Ours stays in
 * database 0, where every connection begins; a script chooses its own (see redis-connection).
 */
import type { RedisUrl } from '../redis-url.js';
import type { RedisLocation } from './location.js';

/** Our client: one connection, or those to one Cluster. */
export interface RedisClient {
  /** The package that made it, or those that may have. */
  readonly library: LibraryLabel;
  readonly isCluster: boolean;
  readonly isTls: boolean;
  /** True while a command can be sent at once. */
  readonly isReady: boolean;
  /** Connects, or waits for the attempt under way, until it has come up or failed. */
  settle(): Promise<void>;
  /**
   * @param command its name in lower case, by which some look for its keys
   * @param key the one in it, which leads to a node of a Cluster; without one any node will do
   */
  call(command: readonly string[], key?: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  listen(listener: ClientListener): void;
  /** @param reconnects whether it comes back over another connection */
  disconnect(reconnects?: boolean): void;
  /** Those that its options name, each by a client of its own. */
  sentinels?(): Promise<Sentinels | undefined>;
}

export interface ClientListener {
  /** A connection failed, with what it said. */
  readonly failed?: (error: Error) => void;
  /** A connection came up; it may still be refused. */
  readonly connected?: () => void;
  readonly closed?: () => void;
  readonly message?: (channel: string) => void;
}

export interface Sentinels {
  readonly masterName: string;
  readonly clients: readonly RedisClient[];
}

export type LibraryName = 'ioredis' | 'redis' | 'iovalkey' | '@valkey/valkey-glide';
export type LibraryLabel = LibraryName | 'ioredis or iovalkey';

/** One library of clients; packages with the same shape are one. */
export interface ClientLibrary {
  /** Whether it speaks to Sentinels. */
  readonly hasSentinel: boolean;
  isClient(value: object): boolean;
  isReplicated(client: object): boolean;
  /** @throws SnowflakeError CONFIG_INVALID for a client that cannot be used */
  locate(client: object): RedisLocation;
  /** Our own connection to where the client leads, which the application may close in any hook. */
  duplicate(client: object): RedisClient;
  /** @param loaded what the import of the package gave */
  build(url: RedisUrl, loaded: unknown, library: LibraryName): RedisClient;
}

interface Emitter<Event extends string> {
  once(event: Event, listener: () => void): unknown;
  off(event: Event, listener: () => void): unknown;
}

/** Resolves at the first of the events. */
export function nextEvent<Event extends string>(
  emitter: Emitter<Event>,
  events: readonly Event[],
): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) emitter.off(event, done);
      resolve();
    };
    for (const event of events) emitter.once(event, done);
  });
}
