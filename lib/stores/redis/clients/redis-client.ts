/**
 * The one client that the rest of this room knows, and what each library of clients does for it:
 * know its own clients by their shape, say where they lead, and make ours.
 *
 * Guarantee: the application's client is neither used for commands nor closed. Ours stays in
 * database 0, where every connection begins; a script chooses its own (see redis-connection).
 */
import { SnowflakeError } from '../../../errors.js';
import { format } from '../../../messages.js';
import type { RedisUrl } from '../redis-url.js';

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
  /**
   * @param reconnects whether it comes back over another connection
   * @param key given, only the node of a Cluster is left to which it leads, where that can be
   */
  disconnect(reconnects?: boolean, key?: string): void;
  /** The Sentinels that its options name, each by a client of its own. */
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
  /** True if it speaks to Sentinels. */
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

const SLOT_COUNT = 16_384;

/** The slot of a key in a Cluster: CRC-16 (XMODEM) of what stands in its first braces, if any. */
export function slotOf(key: string): number {
  const [, tag] = /^[^{]*\{([^}]*)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag || key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1_1021 : 0);
  }
  return crc % SLOT_COUNT;
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

/*
 * The location of a registry: server and database, and the secrets to be left out.
 *
 * Guarantee: the database is one that the configuration asks for.
 */

export interface RedisLocation {
  /** The location in messages, without a password. */
  readonly where: string;
  readonly db: number;
  /** Passwords, which an answer of the server may repeat. */
  readonly secrets: readonly string[];
}

export interface Login {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly password?: unknown;
}

/** A host that could be anything else than a host is not shown. */
const PLAIN_HOST = /^[\p{L}\p{N}._:%-]+$/u;
const UNNAMED = 'the given client';

/** @param db undefined for a Cluster, which has one */
export function locationOf(
  servers: readonly Login[] | string,
  db: number | undefined,
  secrets: readonly unknown[],
): RedisLocation {
  const hosts = typeof servers === 'string' ? servers : servers.map(hostText).join(',') || UNNAMED;
  const where = db === undefined ? hosts : `${hosts}, database ${db}`;
  const texts = secrets.filter((one): one is string => typeof one === 'string' && one !== '');
  return { where, db: db ?? 0, secrets: texts };
}

function hostText({ host, port = 6379 }: Login): string {
  if (typeof host !== 'string' || !PLAIN_HOST.test(host)) return UNNAMED;
  return `${host}:${Number(port)}`;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function databaseOf(option: string, asked: unknown): number {
  const db = asked ?? 0;
  if (Number.isSafeInteger(db) && (db as number) >= 0) return db as number;
  throw invalidClient(
    `its option \`${option}\` is ${format(db)}, which is not the number of a database`,
  );
}

/** @throws SnowflakeError CONFIG_INVALID where a Cluster is asked for another database */
export function refuseDatabase(option: string, asked: unknown): void {
  if ((asked ?? 0) === 0) return;
  throw invalidClient(
    `a Cluster has only database 0, but its \`${option}\` asks for ${format(asked)}`,
  );
}

export function invalidClient(fault: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', `The given Redis client cannot be used: ${fault}.`);
}
