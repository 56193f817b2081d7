/**
 * The one client interface that the rest of this room uses, and what each client library provides
 * for it. A library recognizes its own clients by their structure, reads their location, and
 * creates the library's own client. This file also interprets the server's responses, whichever
 * client received them.
 *
 * Guarantee: the application's client is neither used for commands nor closed. The library's own
 * client stays in database 0, where every connection begins; a script selects its own (see
 * redis-connection).
 */
import { SnowflakeError } from '../../../errors.js';
import { format } from '../../../messages.js';
import type { RedisUrl } from '../redis-url.js';

/** The library's own client: one connection, or the connections to one Cluster. */
export interface RedisClient {
  /** The package of the client, or the possible ones. */
  readonly library: LibraryLabel;
  readonly isTls: boolean;
  /** True while it can send a command at once. */
  readonly isReady: boolean;
  /** Connects, or waits for a pending attempt, until it has succeeded or failed. */
  settle(): Promise<void>;
  /**
   * @param command its name in lower case, because some clients use it to find the keys
   * @param key of the command, which leads to a Cluster node; without a key, any node will do
   */
  call(command: readonly string[], key?: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  listen(listener: ClientListener): void;
  /**
   * @param reconnects whether it reconnects afterwards
   * @param key if given, disconnects only the Cluster node of this key, if the client supports it
   */
  disconnect(reconnects?: boolean, key?: string): void;
  /** The Sentinels in its options, with a client for each. */
  sentinels?(): Promise<Sentinels | undefined>;
}

export interface ClientListener {
  /** A connection failed with this error. */
  readonly failed?: (error: Error) => void;
  /** A connection was established; the server may still reject it. */
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

/** One library of clients; packages with the same structure count as one. */
export interface ClientLibrary {
  /** True if it supports Sentinel. */
  readonly hasSentinel: boolean;
  isClient(value: object): boolean;
  /** @throws SnowflakeError CONFIG_INVALID for a client that cannot be used */
  locate(client: object): RedisLocation;
  /**
   * Creates the library's own client for the location of the given one, which the application may
   * close in any hook.
   */
  duplicate(client: object): RedisClient;
  /** @param loaded the exports of the package */
  build(url: RedisUrl, loaded: unknown, library: LibraryName): RedisClient;
}

const SLOT_COUNT = 16_384;

/** The slot of a key in a Cluster: CRC-16 (XMODEM) of the text in its first braces, if any. */
export function slotOf(key: string): number {
  const [, tag] = /^[^{]*\{([^}]*)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag || key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1_1021 : 0);
  }
  return crc % SLOT_COUNT;
}

/** How long the ioredis and node-redis clients wait before they reconnect. */
export const backoffMs = (attempt: number): number => Math.min(50 * attempt, 2000);

/** The EventEmitter methods of ioredis and node-redis clients. */
export interface Emitter {
  on(event: string, listener: (argument: never) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** Resolves at the first of the events. */
export function nextEvent(emitter: Emitter, events: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) emitter.off(event, done);
      resolve();
    };
    for (const event of events) emitter.once(event, done);
  });
}

/*
 * The location of a registry: its server and database, and the secrets to omit.
 *
 * Guarantee: the database is one that the configuration specifies.
 */

export interface RedisLocation {
  readonly kind: RedisUrl['kind'];
  /** The location in messages, without a password. */
  readonly where: string;
  readonly db: number;
  /** Passwords, which a response of the server may repeat. */
  readonly secrets: readonly string[];
}

export interface Login {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly password?: unknown;
}

/** A value that might not be a host is not shown. */
const PLAIN_HOST = /^[\p{L}\p{N}._:%-]+$/u;
const UNNAMED = 'the given client';

/** The location according to a client's options, or to a URL. */
interface Place {
  readonly kind: RedisLocation['kind'];
  /** Hosts, or the path of a socket. */
  readonly servers: readonly Login[] | string;
  /** The database number of the option. */
  readonly database: readonly [option: string, asked: unknown];
  readonly logins: readonly (Pick<Login, 'password'> | undefined)[];
}

/** @throws SnowflakeError CONFIG_INVALID */
export function locationOf({ kind, servers, database, logins }: Place): RedisLocation {
  const db = databaseOf(kind, ...database);
  const hosts = typeof servers === 'string' ? servers : servers.map(hostText).join(',') || UNNAMED;
  const where = kind === 'cluster' ? hosts : `${hosts}, database ${db}`;
  const passwords = logins.map((login) => login?.password);
  const secrets = passwords.filter((one): one is string => typeof one === 'string' && one !== '');
  return { kind, where, db, secrets };
}

function hostText({ host, port = 6379 }: Login): string {
  if (typeof host !== 'string' || !PLAIN_HOST.test(host)) return UNNAMED;
  return `${host}:${Number(port)}`;
}

function databaseOf(kind: RedisLocation['kind'], option: string, asked: unknown): number {
  const db = asked ?? 0;
  if (kind === 'cluster' && db !== 0) {
    throw invalidClient(
      `a Cluster has only database 0, but its \`${option}\` asks for ${format(db)}`,
    );
  }
  if (Number.isSafeInteger(db) && (db as number) >= 0) return db as number;
  throw invalidClient(
    `its option \`${option}\` is ${format(db)}, which is not the number of a database`,
  );
}

export function invalidClient(fault: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', `The given Redis client cannot be used: ${fault}.`);
}

/*
 * The server's responses, whichever client received them: errors, and the fields of a map.
 *
 * Guarantee: an error of the client's connection never counts as a response of the server.
 */

/** The beginning of Redis's error if it does not have a script with this hash. */
const UNKNOWN_SCRIPT = 'NOSCRIPT';

export function isUnknownScript(error: unknown): boolean {
  return replyIn(error)?.message.startsWith(UNKNOWN_SCRIPT) === true;
}

/** The text of a server's error response; undefined for any other failure. */
export function replyIn(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'ReplyError' || isErrorReply(error)) return error;
  // GLIDE throws the second one if it could not connect.
  return ['RequestError', 'ClosingError'].includes(error.name) ? replyOfGlide(error) : undefined;
}

/** True if a client gave up after the time limit in its options. */
export function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.constructor.name === 'TimeoutError' || error.message === 'Command timed out';
}

/**
 * node-redis has a class for the server's errors, and separate names for some of its subclasses.
 */
function isErrorReply(error: Error): boolean {
  for (let at = Object.getPrototypeOf(error) as object | null; at !== null;) {
    if (at.constructor.name === 'ErrorReply') return true;
    at = Object.getPrototypeOf(at) as object | null;
  }
  return false;
}

/** GLIDE has its own names for some server errors. */
const CODES: Readonly<Record<string, string>> = {
  NoScriptError: UNKNOWN_SCRIPT,
  ResponseError: 'ERR',
  ReadOnly: 'READONLY',
  Moved: 'MOVED',
  Ask: 'ASK',
  BusyLoadingError: 'LOADING',
  PermissionDenied: 'NOPERM',
  TryAgain: 'TRYAGAIN',
  ClusterDown: 'CLUSTERDOWN',
  MasterDown: 'MASTERDOWN',
  AuthenticationFailed: 'WRONGPASS',
};

/** The text before the server's error: none, the address of a node, or the nodes of a Cluster. */
const BEFORE = '^|signalled by the server: - |for address `[^`]*`: |received errors: `';
const SAID_TO_GLIDE = new RegExp(`(?:${BEFORE})([A-Za-z]+): ?([^\\n\`]*)`);

function replyOfGlide(error: Error): Error | undefined {
  const [, code, text] = SAID_TO_GLIDE.exec(error.message) ?? [];
  if (code === undefined) return undefined;
  const name = CODES[code] ?? (/^[A-Z]+$/.test(code) ? code : undefined);
  if (name === undefined) return undefined;
  return Object.assign(new Error(`${name} ${text}`, { cause: error }), { name: 'ReplyError' });
}

/** A field of a map, which clients return as a flat list, as pairs, or as an object. */
export function fieldOf(reply: unknown, name: string): string | undefined {
  if (!Array.isArray(reply)) return (reply as Readonly<Record<string, string>>)[name];
  const list = reply as readonly (string | { readonly key: string; readonly value: string })[];
  const at = list.findIndex((one, index) => index % 2 === 0 && one === name);
  if (at >= 0) return list[at + 1] as string;
  return list.flatMap((one) => (typeof one !== 'string' && one.key === name ? [one.value] : []))[0];
}
