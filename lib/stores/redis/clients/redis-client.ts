/**
 * The one client that the rest of this room knows, and what each library of clients does for it:
 * know its own clients by their shape, say where they lead, and make ours. What a server answered
 * is read here as well, whichever library brought it.
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

/** How long our clients of ioredis and node-redis wait before they connect again. */
export const backoffMs = (attempt: number): number => Math.min(50 * attempt, 2000);

/** What clients of ioredis and node-redis have of an EventEmitter. */
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
 * The location of a registry: server and database, and the secrets to be left out.
 *
 * Guarantee: the database is one that the configuration asks for.
 */

export interface RedisLocation {
  readonly kind: RedisUrl['kind'];
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

/** What the options of a client, or a URL, say of where it leads. */
interface Place {
  readonly kind: RedisLocation['kind'];
  /** Hosts, or the path of a socket. */
  readonly servers: readonly Login[] | string;
  /** What its option asks for. */
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
 * What a server answered, whichever library brought it: its errors, and the fields of a map.
 *
 * Guarantee: what a client says of its connection is never taken for an answer of the server.
 */

/** Redis begins its answer so if it does not know a script by its hash. */
const UNKNOWN_SCRIPT = 'NOSCRIPT';

export function isUnknownScript(error: unknown): boolean {
  return replyIn(error)?.message.startsWith(UNKNOWN_SCRIPT) === true;
}

/** The answer of a server that refused, as it said it; undefined for any other failure. */
export function replyIn(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'ReplyError' || isErrorReply(error)) return error;
  // The second is what GLIDE throws where it could not connect.
  return ['RequestError', 'ClosingError'].includes(error.name) ? replyOfGlide(error) : undefined;
}

/** Whether a client has waited for an answer as long as its options say, and gave up. */
export function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.constructor.name === 'TimeoutError' || error.message === 'Command timed out';
}

/** node-redis has a class for what a server answers, and a name for some of those below it. */
function isErrorReply(error: Error): boolean {
  for (let at = Object.getPrototypeOf(error) as object | null; at !== null;) {
    if (at.constructor.name === 'ErrorReply') return true;
    at = Object.getPrototypeOf(at) as object | null;
  }
  return false;
}

/** GLIDE has names of its own for some answers of a server. */
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

/** By itself, by a node as it was connected to, or by the nodes of a Cluster. */
const BEFORE = '^|signalled by the server: - |for address `[^`]*`: |received errors: `';
const SAID_TO_GLIDE = new RegExp(`(?:${BEFORE})([A-Za-z]+): ?([^\\n\`]*)`);

function replyOfGlide(error: Error): Error | undefined {
  const [, code, text] = SAID_TO_GLIDE.exec(error.message) ?? [];
  if (code === undefined) return undefined;
  const name = CODES[code] ?? (/^[A-Z]+$/.test(code) ? code : undefined);
  if (name === undefined) return undefined;
  return Object.assign(new Error(`${name} ${text}`, { cause: error }), { name: 'ReplyError' });
}

/** A field of a map, which clients give as a flat list, as pairs, or as an object. */
export function fieldOf(reply: unknown, name: string): string | undefined {
  if (!Array.isArray(reply)) return (reply as Readonly<Record<string, string>>)[name];
  const list = reply as readonly (string | { readonly key: string; readonly value: string })[];
  const at = list.findIndex((one, index) => index % 2 === 0 && one === name);
  if (at >= 0) return list[at + 1] as string;
  return list.flatMap((one) => (typeof one !== 'string' && one.key === name ? [one.value] : []))[0];
}
