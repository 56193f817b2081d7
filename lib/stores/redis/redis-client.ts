/**
 * Our client: built from a URL or after the pattern of the application's.
 *
 * Clients are known by shape, so that ioredis itself is only loaded where a URL asks for it.
 * Guarantee: the application's client is neither used for commands nor closed. Ours stays in
 * database 0, where every connection begins; a script chooses its own (see redis-connection).
 */
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import type { RedisUrl } from './redis-url.js';

export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: object;
  connect(): Promise<void>;
  /** @param reconnects whether it comes back over another connection */
  disconnect(reconnects?: boolean): void;
  evalsha(sha1: string, keyCount: number, ...keyAndArgs: (string | number)[]): Promise<unknown>;
  eval(lua: string, keyCount: number, ...keyAndArgs: (string | number)[]): Promise<unknown>;
  info(section: string): Promise<string>;
  config(operation: 'GET', name: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string) => void): unknown;
  on(event: string, listener: (error: Error) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** A client of the application: ioredis' Redis (standalone, Sentinel) or Cluster. */
export type GivenClient = Pick<RedisClient, 'status' | 'isCluster' | 'options'> & {
  duplicate(...args: never[]): unknown;
};

/** Redis begins its answer so if it does not know a script by its hash. */
export const UNKNOWN_SCRIPT = 'NOSCRIPT';

/** Our connection answers at once or fails: the keeper repeats calls, the client must not queue. */
const NODE_OPTIONS = {
  maxRetriesPerRequest: 1,
  // Two services with different prefixes would keep two registries for one id space.
  keyPrefix: '',
  // ioredis swallows what a server says against its SELECT, and goes on in database 0.
  db: 0,
  readOnly: false,
  monitor: false,
  // Telling its name comes first and hears the refusal of a server that is full, then keeps it.
  disableClientInfo: true,
  stringNumbers: false,
  // ioredis 6 may give a map as an object.
  replyMapping: 'legacy',
} as const;

const CONNECTION_OPTIONS = {
  ...NODE_OPTIONS,
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  role: 'master',
  // Otherwise a Sentinel that refuses would be asked for ever, and its reason never be seen.
  sentinelRetryStrategy: () => null,
} as const;

const CLUSTER_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  keyPrefix: '',
  scaleReads: 'master',
} as const;

/**
 * Our own connection to where the application's client leads. The application may close its client
 * in any hook: the worker id is still given back over ours.
 */
export function duplicateClient(client: GivenClient): RedisClient {
  const given = client as unknown as { duplicate(...options: unknown[]): RedisClient };
  const options = (client.options ?? {}) as NodeOptions & { redisOptions?: NodeOptions };
  if (!client.isCluster)
    return given.duplicate({ ...CONNECTION_OPTIONS, ...reconnecting(options) });
  // Given redisOptions replace these as a whole, and with them password and TLS.
  const { redisOptions } = options;
  return given.duplicate([], {
    ...CLUSTER_OPTIONS,
    redisOptions: { ...redisOptions, ...NODE_OPTIONS, ...reconnecting(redisOptions) },
  });
}

interface NodeOptions {
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

/**
 * A script that the server does not know yet is no reason to connect again: it would never be
 * heard of. Nor is a command sent again, since what refuses it once may refuse it for ever.
 */
function reconnecting({ reconnectOnError }: NodeOptions = {}): NodeOptions {
  if (typeof reconnectOnError !== 'function') return {};
  const isReason = (error: Error) =>
    !error.message.startsWith(UNKNOWN_SCRIPT) && Boolean(reconnectOnError(error));
  return { reconnectOnError: isReason };
}

/** True if TLS was asked for, on any of its connections. */
export function speaksTls({ options }: RedisClient): boolean {
  const { tls, redisOptions } = (options ?? {}) as { tls?: unknown; redisOptions?: object };
  return Boolean(tls ?? (redisOptions as { tls?: unknown } | undefined)?.tls);
}

interface Streaming {
  readonly stream?: { on(event: 'error', listener: () => void): unknown };
}

/**
 * ioredis hears the first error of a stream alone. With TLS a second one may follow, as when a
 * connection is closed in the midst of its handshake, and would end the process.
 */
export function ignoreLaterErrors(client: RedisClient): void {
  const watched = new WeakSet<object>();
  const watch = ({ stream }: Streaming): void => {
    if (stream === undefined || watched.has(stream)) return;
    watched.add(stream);
    stream.on('error', () => undefined);
  };
  client.on('error', () => watch(client as Streaming));
  // A Cluster has a client for each node.
  client.on('+node', (node) => {
    const one = node as unknown as RedisClient;
    one.on('error', () => watch(one as Streaming));
  });
}

/** Builds the client, not yet connected. @throws SnowflakeError CONFIG_INVALID without ioredis. */
export async function clientFromUrl(url: RedisUrl): Promise<RedisClient> {
  const { Redis, Cluster } = await loadIoredis();
  const { username, password, sentinelUsername, sentinelPassword } = url;
  const login = { username, password, ...(url.isTls && { tls: {} }) };
  if (url.kind === 'cluster') {
    const redisOptions = { ...login, ...NODE_OPTIONS };
    return new Cluster([...url.hosts], {
      ...CLUSTER_OPTIONS,
      redisOptions,
    }) as unknown as RedisClient;
  }
  if (url.kind === 'sentinel') {
    // Without these ioredis would talk to both in the clear, whatever `tls` says.
    const tls = url.isTls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {};
    const sentinels = { sentinels: [...url.hosts], sentinelUsername, sentinelPassword, ...tls };
    const options = { ...CONNECTION_OPTIONS, ...login, ...sentinels, name: url.masterName! };
    return new Redis(options) as unknown as RedisClient;
  }
  const [{ host, port } = { host: 'localhost', port: 6379 }] = url.hosts;
  return new Redis({ ...CONNECTION_OPTIONS, ...login, host, port }) as unknown as RedisClient;
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>> {
  try {
    return await import('ioredis');
  } catch (cause) {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      'A Redis support needs the package ioredis, 5.4 or later or 6, which could not be loaded. ' +
        'Run: npm install ioredis@5',
      { cause },
    );
  }
}

/*
 * Describes the place of a registry: server and database, and the secrets to be left out.
 *
 * Guarantee: the database is one that the configuration asks for. A client that was switched to
 * another one while it ran is refused: other processes would not follow.
 */

export interface RedisLocation {
  /** The location in messages, without a password. */
  readonly where: string;
  readonly db: number;
  /** Passwords, which an answer of the server may repeat. */
  readonly secrets: readonly string[];
}

/** A host that could be anything else than a host is not shown. */
const PLAIN_HOST = /^[\p{L}\p{N}._:%-]+$/u;

export function locationOfUrl(url: RedisUrl): RedisLocation {
  const { kind, hosts, db, password, sentinelPassword } = url;
  const where = withDatabase(hosts.map(hostText).join(','), kind === 'cluster' ? undefined : db);
  return { where, db, secrets: textsAmong([password, sentinelPassword]) };
}

interface Login {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly password?: unknown;
}

interface GivenOptions extends Login {
  readonly path?: unknown;
  readonly db?: unknown;
  readonly sentinels?: readonly Login[] | null;
  readonly sentinelPassword?: unknown;
  readonly redisOptions?: Login & { readonly db?: unknown };
}

/** @throws SnowflakeError CONFIG_INVALID */
export function locationOfClient(client: GivenClient): RedisLocation {
  const options = (client.options ?? {}) as GivenOptions;
  const nodes = (client as { startupNodes?: readonly unknown[] }).startupNodes ?? [];
  const logins = [options, options.redisOptions, ...nodes] as (Login | undefined)[];
  const passwords = logins.map((login) => login?.password);
  const secrets = textsAmong([...passwords, options.sentinelPassword]);
  if (client.isCluster) {
    refuseClusterDatabase(options.redisOptions?.db);
    return { where: hostList(nodes as Login[]), db: 0, secrets };
  }
  const db = configuredDatabase(client, options.db);
  const { sentinels, path } = options;
  const isSocket = typeof path === 'string' && path !== '';
  const server = isSocket ? path : hostList(sentinels ?? [options]);
  return { where: withDatabase(server, db), db, secrets };
}

function configuredDatabase(client: GivenClient, asked: unknown): number {
  const db = asked ?? 0;
  if (!Number.isSafeInteger(db) || (db as number) < 0) {
    throw invalidClient(
      `its option \`db\` is ${format(db)}, which is not the number of a database`,
    );
  }
  // The status of a client of ioredis, also while it connects again.
  const { prevCondition, condition } = client as {
    prevCondition?: { select?: unknown } | null;
    condition?: { select?: unknown } | null;
  };
  const selected = (prevCondition ?? condition)?.select ?? db;
  if (selected !== db) {
    throw invalidClient(
      `it was configured with database ${db as number} and then switched to ${format(selected)} ` +
        `by select(), which other processes and its own next connection need not follow; write ` +
        `the number as its option \`db\``,
    );
  }
  return db as number;
}

function refuseClusterDatabase(db: unknown): void {
  if (db === undefined || db === null || db === 0) return;
  throw invalidClient(`a Cluster has only database 0, but its redisOptions ask for ${format(db)}`);
}

function withDatabase(server: string, db: number | undefined): string {
  return db === undefined ? server : `${server}, database ${db}`;
}

function hostList(logins: readonly Login[]): string {
  return logins.length === 0 ? 'the given client' : logins.map(hostText).join(',');
}

function hostText({ host, port }: Login): string {
  if (typeof host !== 'string' || !PLAIN_HOST.test(host)) return 'the given client';
  return `${host}:${Number(port)}`;
}

function textsAmong(values: readonly unknown[]): string[] {
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}

function invalidClient(fault: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', `The given Redis client cannot be used: ${fault}.`);
}
