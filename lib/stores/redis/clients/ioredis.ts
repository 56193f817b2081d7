/**
 * Clients of ioredis 5 and 6, and of iovalkey, which has the same shape: one Redis, Sentinel and
 * Cluster.
 */
import { format } from '../../../messages.js';
import { withinLimit, type Timers } from '../../../time/timers.js';
import type { RedisUrl } from '../redis-url.js';
import {
  databaseOf,
  invalidClient,
  locationOf,
  nextEvent,
  UNKNOWN_SCRIPT,
  type ClientLibrary,
  type ClientListener,
  type LibraryName,
  type Login,
  type RedisClient,
} from './redis-client.js';

/** The part of a client that is used here; all of it is known by shape. */
interface Ioredis {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: GivenOptions;
  /** Of a Cluster. */
  readonly startupNodes?: readonly Login[];
  /** The state of a connection, also while it connects again. */
  readonly prevCondition?: { readonly select?: unknown } | null;
  readonly condition?: { readonly select?: unknown } | null;
  readonly stream?: { on(event: 'error', listener: () => void): unknown };
  duplicate(...options: unknown[]): Ioredis;
  connect(): Promise<void>;
  disconnect(reconnects?: boolean): void;
  evalsha(sha1: string, keyCount: number, ...keyAndArgs: string[]): Promise<unknown>;
  eval(lua: string, keyCount: number, ...keyAndArgs: string[]): Promise<unknown>;
  info(section: string): Promise<string>;
  config(operation: 'GET', name: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  call(...command: string[]): Promise<unknown>;
  on(event: string, listener: (argument: never) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

interface NodeOptions extends Login {
  readonly db?: unknown;
  readonly tls?: unknown;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

interface GivenOptions extends NodeOptions {
  readonly path?: unknown;
  readonly redisOptions?: NodeOptions;
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | null;
  readonly name?: string;
  readonly sentinelUsername?: string | null;
  readonly sentinelPassword?: string | null;
  readonly sentinelTLS?: object;
}

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

export const IOREDIS: ClientLibrary = {
  hasSentinel: true,
  isClient(value) {
    const { status, duplicate } = value as Partial<Ioredis>;
    return typeof status === 'string' && typeof duplicate === 'function';
  },
  isReplicated: (client) =>
    (client as Ioredis).isCluster === true || Boolean((client as Ioredis).options?.sentinels),
  locate: (client) => locate(client as Ioredis),
  duplicate: (client) => new IoredisClient(duplicated(client as Ioredis), 'ioredis'),
  build: (url, loaded, library) => new IoredisClient(built(url, loaded as Constructors), library),
};

function locate(client: Ioredis) {
  const { options = {}, startupNodes = [] } = client;
  const logins: (Login | undefined)[] = [options, options.redisOptions, ...startupNodes];
  const secrets = [...logins.map((login) => login?.password), options.sentinelPassword];
  if (client.isCluster) {
    const db = options.redisOptions?.db ?? 0;
    if (db === 0) return locationOf(startupNodes, undefined, secrets);
    throw invalidClient(
      `a Cluster has only database 0, but its redisOptions ask for ${format(db)}`,
    );
  }
  const db = databaseOf('db', options.db);
  const selected = (client.prevCondition ?? client.condition)?.select ?? db;
  if (selected !== db) {
    throw invalidClient(
      `it was configured with database ${db} and then switched to ${format(selected)} ` +
        `by select(), which other processes and its own next connection need not follow; write ` +
        `the number as its option \`db\``,
    );
  }
  const { sentinels, path } = options;
  const isSocket = typeof path === 'string' && path !== '';
  return locationOf(isSocket ? path : (sentinels ?? [options]), db, secrets);
}

function duplicated(client: Ioredis): Ioredis {
  const { options = {} } = client;
  if (!client.isCluster)
    return client.duplicate({ ...CONNECTION_OPTIONS, ...reconnecting(options) });
  // Given redisOptions replace these as a whole, and with them password and TLS.
  const { redisOptions } = options;
  return client.duplicate([], {
    ...CLUSTER_OPTIONS,
    redisOptions: { ...redisOptions, ...NODE_OPTIONS, ...reconnecting(redisOptions) },
  });
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

interface Constructors {
  readonly Redis: new (options: object) => Ioredis;
  readonly Cluster: new (hosts: readonly object[], options: object) => Ioredis;
}

function built(url: RedisUrl, { Redis, Cluster }: Constructors): Ioredis {
  const { username, password, sentinelUsername, sentinelPassword } = url;
  const login = { username, password, ...(url.isTls && { tls: {} }) };
  if (url.kind === 'cluster') {
    const redisOptions = { ...login, ...NODE_OPTIONS };
    return new Cluster([...url.hosts], { ...CLUSTER_OPTIONS, redisOptions });
  }
  if (url.kind === 'sentinel') {
    // Without these ioredis would talk to both in the clear, whatever `tls` says.
    const tls = url.isTls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {};
    const sentinels = { sentinels: [...url.hosts], sentinelUsername, sentinelPassword, ...tls };
    return new Redis({ ...CONNECTION_OPTIONS, ...login, ...sentinels, name: url.masterName });
  }
  const [{ host, port } = { host: 'localhost', port: 6379 }] = url.hosts;
  return new Redis({ ...CONNECTION_OPTIONS, ...login, host, port });
}

/** Exported for tests, which look at the client inside. */
export class IoredisClient implements RedisClient {
  readonly isCluster: boolean;
  readonly isTls: boolean;
  readonly #client: Ioredis;

  constructor(
    client: object,
    readonly library: LibraryName,
  ) {
    this.#client = client as Ioredis;
    const { isCluster, options } = this.#client;
    this.isCluster = isCluster === true;
    this.isTls = Boolean(options?.tls ?? options?.redisOptions?.tls);
    ignoreLaterErrors(this.#client);
  }

  get isReady(): boolean {
    return this.#client.status === 'ready';
  }

  async settle(): Promise<void> {
    const { status } = this.#client;
    // Commands sent before an attempt has ended would fail for no reason.
    if (status === 'wait' || status === 'end') await this.#client.connect();
    else await nextEvent(this.#client, ['ready', 'close', 'end']);
  }

  evalsha(sha1: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.evalsha(sha1, 1, key, ...args);
  }

  eval(lua: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.eval(lua, 1, key, ...args);
  }

  info(section: string): Promise<string> {
    return this.#client.info(section);
  }

  async setting(name: string): Promise<string | undefined> {
    const [, value] = (await this.#client.config('GET', name)) as string[];
    return value;
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#client.subscribe(channel);
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#client.unsubscribe(channel);
  }

  listen({ failed, connected, closed, message }: ClientListener): void {
    if (failed) this.#client.on('error', failed);
    // Not at 'ready', which a connection that has refused the password may still come to.
    if (connected) this.#client.on('connect', connected);
    if (closed) this.#client.on('close', closed);
    if (message) this.#client.on('message', message);
  }

  disconnect(reconnects = false): void {
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more.
    this.#client.disconnect(reconnects);
  }

  /** The highest that any of the Sentinels tells that the client was given. */
  async failoverEpoch(timers: Timers): Promise<number> {
    const { sentinels, name, ...login } = this.#client.options ?? {};
    const epochs = (sentinels ?? []).map(async ({ host, port = 26_379 }) => {
      const sentinel = this.#client.duplicate({
        sentinels: null,
        host,
        port,
        username: login.sentinelUsername ?? null,
        password: login.sentinelPassword ?? null,
        tls: login.sentinelTLS,
        enableReadyCheck: false,
        retryStrategy: () => null,
      });
      // The command reports the failure.
      sentinel.on('error', () => undefined);
      const asking = sentinel.connect().then(() => sentinel.call('SENTINEL', 'MASTER', name!));
      return withinLimit(asking, { timers, ms: SENTINEL_MS, over: () => [] })
        .then(epochIn, () => 0) // Another one may tell; where none does, nothing rests on it.
        .finally(() => sentinel.disconnect());
    });
    return Math.max(0, ...(await Promise.all(epochs)));
  }
}

/** Less than a call may take: a Sentinel that is away holds up the first one of a connection. */
const SENTINEL_MS = 300;

function epochIn(reply: unknown): number {
  const pairs = reply as unknown[];
  const at = pairs.indexOf('config-epoch');
  // A Sentinel that has led no failover yet says 0, which is a number like the others.
  return at < 0 ? 0 : Number(pairs[at + 1]) + 1;
}

/**
 * ioredis hears the first error of a stream alone. With TLS a second one may follow, as when a
 * connection is closed in the midst of its handshake, and would end the process.
 */
function ignoreLaterErrors(client: Ioredis): void {
  const watched = new WeakSet<object>();
  const watch = ({ stream }: Ioredis): void => {
    if (stream === undefined || watched.has(stream)) return;
    watched.add(stream);
    stream.on('error', () => undefined);
  };
  client.on('error', () => watch(client));
  // A Cluster has a client for each node.
  client.on('+node', (node: Ioredis) => node.on('error', () => watch(node)));
}
