/**
 * Clients of node-redis 5 and 6, the package `redis`: one Redis, Sentinel and Cluster.
 *
 * A Sentinel client keeps its options to itself, so a given one is not named in messages, and the
 * number of a failover is asked by none of them.
 */
import type { RedisUrl } from '../redis-url.js';
import {
  databaseOf,
  invalidClient,
  locationOf,
  nextEvent,
  ReplyError,
  type ClientLibrary,
  type ClientListener,
  type Login,
  type RedisClient,
} from './redis-client.js';

interface Script {
  readonly keys: readonly string[];
  readonly arguments: readonly string[];
}

/** The part of a client that is used here; all of it is known by shape. */
interface NodeRedis {
  readonly isOpen: boolean;
  /** Absent in a Cluster of node-redis 5. */
  readonly isReady?: boolean;
  /** Of a client of one Redis. */
  readonly options?: GivenOptions;
  /** Of a Cluster. */
  readonly _options?: ClusterOptions;
  readonly masters?: readonly object[];
  nodeClient?(node: object): NodeRedis | Promise<NodeRedis>;
  /** Of Sentinel. */
  getSentinelNode?(): unknown;
  duplicate(overrides?: object): NodeRedis;
  connect(): Promise<unknown>;
  destroy(): unknown;
  evalSha(sha1: string, script: Script): Promise<unknown>;
  eval(lua: string, script: Script): Promise<unknown>;
  info(section: string): Promise<string>;
  configGet(name: string): Promise<Readonly<Record<string, string>>>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  on(event: string, listener: (argument: never) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

interface GivenOptions {
  readonly socket?: Login & { readonly path?: unknown; readonly tls?: unknown };
  readonly url?: unknown;
  readonly password?: unknown;
  readonly database?: unknown;
  readonly commandOptions?: { readonly timeout?: number };
}

interface ClusterOptions {
  readonly rootNodes?: readonly GivenOptions[];
  readonly defaults?: GivenOptions;
  readonly commandOptions?: { readonly timeout?: number };
}

/** Our connection answers at once or fails; what a script answers is given as it comes. */
const NODE_OPTIONS = {
  url: undefined,
  database: 0,
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  readonly: false,
  disableClientInfo: true,
  clientSideCache: undefined,
  emitInvalidate: false,
  keyPrefix: undefined,
};

/** An application's own strategy may give up for good. */
const reconnectStrategy = (retries: number) => Math.min(50 * (retries + 1), 2000);

export const NODE_REDIS: ClientLibrary = {
  hasSentinel: true,
  isClient(value) {
    // A pool answers to the same names, and subscribes to nothing.
    if ('totalClients' in value) return false;
    const { isOpen, connect, destroy } = value as Partial<NodeRedis>;
    return [typeof isOpen, typeof connect, typeof destroy].join() === 'boolean,function,function';
  },
  isReplicated: (client) => kindOf(client as NodeRedis) !== 'standalone',
  locate: (client) => locate(client as NodeRedis),
  duplicate: (client) => duplicated(client as NodeRedis),
  build: (url, loaded) => new NodeRedisClient(built(url, loaded as Factories), url.isTls),
};

function kindOf(client: NodeRedis): RedisUrl['kind'] {
  if ('masters' in client) return 'cluster';
  return typeof client.getSentinelNode === 'function' ? 'sentinel' : 'standalone';
}

const NOT_DUPLICATED =
  'a Sentinel client of node-redis 5 makes no second connection. Use node-redis 6, or a URL, ' +
  'redis+sentinel://host:26379/mymaster';

function locate(client: NodeRedis) {
  const { options = {}, _options = {} } = client;
  switch (kindOf(client)) {
    case 'standalone': {
      const { socket = {}, password } = options;
      const server =
        typeof socket.path === 'string' ? socket.path : [{ host: 'localhost', ...socket }];
      return locationOf(server, databaseOf('database', options.database), [password]);
    }
    case 'sentinel':
      if (typeof client.duplicate !== 'function') throw invalidClient(NOT_DUPLICATED);
      return locationOf([], undefined, []);
    case 'cluster': {
      const { rootNodes = [], defaults } = _options;
      if ((defaults?.database ?? 0) !== 0) {
        throw invalidClient('a Cluster has only database 0, but its defaults ask for another');
      }
      const servers = rootNodes.map(({ socket, url }) => socket ?? loginOf(url));
      const secrets = [defaults, ...rootNodes, ...servers].map((one) => one?.password);
      return locationOf(servers, undefined, secrets);
    }
  }
}

function loginOf(url: unknown): Login {
  if (typeof url !== 'string' || !URL.canParse(url)) return {};
  const { hostname: host, port, password } = new URL(url);
  return { host, port: port || 6379, password };
}

function duplicated(client: NodeRedis): RedisClient {
  const { options = {}, _options } = client;
  switch (kindOf(client)) {
    case 'standalone': {
      const commandOptions = timeoutOf(options);
      const socket = { ...options.socket, reconnectStrategy };
      const ours = client.duplicate({ ...NODE_OPTIONS, socket, commandOptions });
      return new NodeRedisClient(ours, Boolean(options.socket?.tls));
    }
    case 'sentinel': {
      const ours = { keyPrefix: undefined, commandOptions: {}, replicaPoolSize: 0 };
      return new NodeRedisClient(client.duplicate(ours), false);
    }
    case 'cluster': {
      const defaults = { ..._options?.defaults, ...NODE_OPTIONS };
      const commandOptions = timeoutOf(_options);
      const ours = { keyPrefix: undefined, useReplicas: false, defaults, commandOptions };
      return new NodeRedisClient(client.duplicate(ours), Boolean(defaults.socket?.tls));
    }
  }
}

/** The application's limit of a command; no other of its options of commands. */
function timeoutOf({ commandOptions }: GivenOptions | ClusterOptions = {}) {
  const { timeout } = commandOptions ?? {};
  return timeout === undefined ? {} : { timeout };
}

interface Factories {
  readonly createClient: (options: object) => NodeRedis;
  readonly createCluster: (options: object) => NodeRedis;
  readonly createSentinel: (options: object) => NodeRedis;
}

function built(url: RedisUrl, { createClient, createCluster, createSentinel }: Factories) {
  const { username, password, sentinelUsername, sentinelPassword, hosts } = url;
  const tls = url.isTls ? { tls: true } : {};
  const node = { ...NODE_OPTIONS, username, password };
  if (url.kind === 'cluster') {
    const rootNodes = hosts.map((host) => ({ socket: { ...host, ...tls } }));
    return createCluster({ rootNodes, defaults: { ...node, socket: tls } });
  }
  if (url.kind === 'sentinel') {
    const login = { username: sentinelUsername, password: sentinelPassword };
    return createSentinel({
      name: url.masterName,
      sentinelRootNodes: hosts,
      nodeClientOptions: { ...node, socket: tls },
      sentinelClientOptions: { ...login, socket: tls },
    });
  }
  return createClient({ ...node, socket: { ...hosts[0], ...tls, reconnectStrategy } });
}

class NodeRedisClient implements RedisClient {
  readonly library = 'redis';
  readonly isCluster: boolean;
  readonly #client: NodeRedis;
  readonly #channels = new Set<string>();
  readonly #messages = new Set<(channel: string) => void>();
  /** One attempt of a Cluster or by Sentinel, which a client of one Redis repeats by itself. */
  #connecting: Promise<unknown> | undefined;
  #hasConnected = false;

  constructor(
    client: NodeRedis,
    readonly isTls: boolean,
  ) {
    this.#client = client;
    this.isCluster = kindOf(client) === 'cluster';
    // An error that nobody hears would end the process; the next call reports it.
    client.on('error', () => undefined);
  }

  get isReady(): boolean {
    const { isReady, isOpen } = this.#client;
    return isReady ?? (isOpen && this.#hasConnected);
  }

  async settle(): Promise<void> {
    const isStandalone = kindOf(this.#client) === 'standalone';
    if (isStandalone && this.#client.isOpen)
      return nextEvent(this.#client, ['ready', 'error', 'end']);
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    const failed = isStandalone ? [nextEvent(this.#client, ['error', 'end'])] : [];
    await Promise.race([this.#connecting, ...failed]);
  }

  async #connect(): Promise<void> {
    this.#hasConnected = false;
    await this.#client.connect();
    this.#hasConnected = true;
  }

  evalsha(sha1: string, key: string, args: readonly string[]): Promise<unknown> {
    return asked(this.#client.evalSha(sha1, { keys: [key], arguments: args }));
  }

  eval(lua: string, key: string, args: readonly string[]): Promise<unknown> {
    return asked(this.#client.eval(lua, { keys: [key], arguments: args }));
  }

  async info(section: string): Promise<string> {
    return asked((await this.#anyNode()).info(section));
  }

  async setting(name: string): Promise<string | undefined> {
    return (await asked((await this.#anyNode()).configGet(name)))[name];
  }

  /** A Cluster of node-redis 6 would ask all of its nodes, and add up what they tell. */
  async #anyNode(): Promise<NodeRedis> {
    const [node] = this.#client.masters ?? [];
    return node === undefined ? this.#client : this.#client.nodeClient!(node);
  }

  async subscribe(channel: string): Promise<void> {
    const hear = (_message: string, from: string) => {
      for (const message of this.#messages) message(from);
    };
    await this.#client.subscribe(channel, hear);
    this.#channels.add(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    await this.#client.unsubscribe(channel);
  }

  listen({ failed, connected, closed, message }: ClientListener): void {
    if (failed) this.#client.on('error', failed);
    if (connected) this.#client.on('connect', connected);
    if (closed) for (const event of ['error', 'end']) this.#client.on(event, closed);
    if (message) this.#messages.add(message);
  }

  disconnect(reconnects = false): void {
    void this.#end().then(() => (reconnects ? this.#resume() : undefined));
  }

  async #end(): Promise<void> {
    this.#hasConnected = false;
    try {
      await this.#client.destroy();
    } catch {
      // It is closed already.
    }
  }

  /** Its end forgets what it was subscribed to. */
  async #resume(): Promise<void> {
    try {
      await this.#connect();
      await Promise.all([...this.#channels].map((channel) => this.subscribe(channel)));
    } catch {
      // The next call connects, or reports why it cannot; nothing depends on a message.
    }
  }

  failoverEpoch(): Promise<number> {
    return Promise.resolve(0);
  }
}

/** What the server answers is known by the class of an error, which has no name of its own. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isReply(error)) throw error;
    throw new ReplyError((error as Error).message, { cause: error });
  }
}

function isReply(error: unknown): boolean {
  for (let at = Object.getPrototypeOf(error ?? {}) as object | null; at !== null;) {
    if (at.constructor?.name === 'ErrorReply') return true;
    at = Object.getPrototypeOf(at) as object | null;
  }
  return false;
}
