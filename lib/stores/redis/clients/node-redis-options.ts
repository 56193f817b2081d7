/**
 * The options of our client of node-redis, after a given client or after a URL, and where a given
 * one leads.
 */
import type { RedisUrl } from '../redis-url.js';
import {
  databaseOf,
  locationOf,
  refuseDatabase,
  type Login,
  type RedisLocation,
  invalidClient,
} from './redis-client.js';

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
};

/** An application's own strategy may give up for good, or wait for long. */
const reconnectStrategy = (retries: number) => Math.min(50 * (retries + 1), 2000);

function nodeOptions(given: NodeOptions = {}): NodeOptions {
  // The application's limit of a command; no other of its options of commands. Without one there is
  // none, which has to be said: that of node-redis 6 takes ten times as long as the command itself.
  const commandOptions = { timeout: given.commandOptions?.timeout };
  const socket = { ...given.socket, reconnectStrategy };
  return { ...given, ...NODE_OPTIONS, socket, commandOptions };
}

/** As long as node-redis lets a connection take to come up. */
const UNHEARD_MS = 5000;

/**
 * For a connection that only asks which node has which slots. Without a limit one that a node
 * accepts and never answers would keep the Cluster from asking any other, for ever.
 */
export function impatient(node: NodeOptions): NodeOptions {
  return { ...node, socket: { socketTimeout: UNHEARD_MS, ...node.socket } };
}

export function optionsOfUrl(url: RedisUrl): GivenOptions {
  const { username, password, sentinelUsername, sentinelPassword, hosts } = url;
  const socket: Socket = url.isTls ? { tls: true } : {};
  const node = nodeOptions({ username, password, socket });
  const { commandOptions } = node;
  switch (url.kind) {
    case 'standalone':
      return { ...node, socket: { ...node.socket, ...hosts[0] } };
    case 'sentinel': {
      const own = { username: sentinelUsername, password: sentinelPassword, socket };
      const sentinels = { sentinelRootNodes: hosts, sentinelClientOptions: own, commandOptions };
      return { name: url.masterName!, nodeClientOptions: node, ...sentinels };
    }
    case 'cluster':
      return {
        rootNodes: hosts.map((host) => impatient({ socket: { ...host, ...socket } })),
        defaults: node,
        commandOptions,
      };
  }
}

/** The end that a client leads to, and the options in place of its own by which it makes ours. */
interface Way {
  readonly servers: readonly Login[] | string;
  readonly db: number | undefined;
  readonly logins: readonly (Login | undefined)[];
  readonly ours: GivenOptions;
}

const WAYS: Readonly<Record<RedisUrl['kind'], (given: GivenOptions) => Way>> = {
  standalone: (options) => ({
    servers: options.socket?.path ?? [{ host: 'localhost', ...options.socket }],
    db: databaseOf('database', options.database),
    logins: [options],
    ours: nodeOptions(options),
  }),
  sentinel: ({ sentinelRootNodes = [], nodeClientOptions: node, sentinelClientOptions }) => ({
    servers: sentinelRootNodes,
    db: databaseOf('nodeClientOptions.database', node?.database),
    logins: [node, sentinelClientOptions],
    ours: { replicaPoolSize: 0, nodeClientOptions: nodeOptions(node) },
  }),
  cluster({ rootNodes = [], defaults }) {
    refuseDatabase('defaults.database', defaults?.database);
    const servers = rootNodes.map(({ socket, url }) => socket ?? loginOf(url));
    const ours = { useReplicas: false, defaults: nodeOptions(defaults) };
    const roots = { rootNodes: rootNodes.map((node) => impatient(node)) };
    const logins = [defaults, ...rootNodes, ...servers];
    return { servers, db: undefined, logins, ours: { ...ours, ...roots } };
  },
};

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: GivenNodeRedis): RedisLocation {
  const { servers, db, logins } = WAYS[kindOf(client)](optionsOf(client));
  const secrets = logins.map((login) => login?.password);
  return locationOf(servers, db, secrets);
}

/** @throws SnowflakeError CONFIG_INVALID */
export function overridesOf(client: GivenNodeRedis): GivenOptions {
  const given = optionsOf(client);
  const { commandOptions = {} } = nodeOptions(given);
  return { ...WAYS[kindOf(client)](given).ours, commandOptions };
}

/** Our own connection to a Sentinel, made after one to the master. */
export function optionsOfSentinel(
  { host, port }: Login,
  { sentinelClientOptions: own }: GivenOptions,
): NodeOptions {
  const login = { username: undefined, password: undefined, credentialsProvider: undefined };
  const socket = { ...own?.socket, host, port, reconnectStrategy: false };
  return { ...nodeOptions({ ...login, ...own }), socket };
}

/*
 * A given client of node-redis by its shape, and its options: for one Redis, by Sentinel, for a
 * Cluster.
 */

interface Socket extends Login {
  readonly path?: string;
  readonly tls?: unknown;
  readonly reconnectStrategy?: unknown;
  readonly socketTimeout?: number;
}

/** The options for one Redis; those of Sentinel and of a Cluster contain them. */
interface NodeOptions extends Login {
  readonly socket?: Socket;
  readonly url?: unknown;
  readonly username?: unknown;
  readonly database?: unknown;
  readonly commandOptions?: { readonly timeout?: number };
}

/** The options of any of the three. */
export interface GivenOptions extends NodeOptions {
  readonly rootNodes?: readonly NodeOptions[];
  readonly defaults?: NodeOptions;
  readonly useReplicas?: boolean;
  readonly name?: string;
  readonly sentinelRootNodes?: readonly Login[];
  readonly nodeClientOptions?: NodeOptions;
  readonly sentinelClientOptions?: NodeOptions;
  readonly replicaPoolSize?: number;
}

/** A client that an application gives, by shape. */
export interface GivenNodeRedis {
  /** Only a client of one Redis has them. */
  readonly options?: GivenOptions;
  /** Only a Cluster has them. */
  readonly _options?: GivenOptions;
  readonly masters?: unknown;
  /** Only a Sentinel client has it. */
  getSentinelNode?: unknown;
  readonly _self?: unknown;
  /** It is absent in a Sentinel client of node-redis 5. */
  duplicate?(overrides?: object): GivenNodeRedis;
}

export function kindOf(client: GivenNodeRedis): RedisUrl['kind'] {
  if ('masters' in client) return 'cluster';
  return typeof client.getSentinelNode === 'function' ? 'sentinel' : 'standalone';
}

/** @throws SnowflakeError CONFIG_INVALID */
export function optionsOf(client: GivenNodeRedis): GivenOptions {
  if (kindOf(client) !== 'sentinel') return client.options ?? client._options ?? {};
  // It keeps them to itself, but for the constructor of its duplicates.
  const given = Object.create({ _self: client._self, constructor: Given }) as GivenNodeRedis;
  const { sentinelRootNodes, ...others } = (client.duplicate?.call(given) as GivenOptions) ?? {};
  if (sentinelRootNodes !== undefined) return { sentinelRootNodes, ...others };
  throw invalidClient(
    'a Sentinel client of node-redis 5 makes no second connection. Use node-redis 6, or a URL, ' +
      'redis+sentinel://host:26379/mymaster',
  );
}

class Given {
  constructor(options: object) {
    Object.assign(this, options);
  }
}

function loginOf(url: unknown): Login {
  if (typeof url !== 'string' || !URL.canParse(url)) return {};
  const { hostname: host, port, password } = new URL(url);
  return { host, port: port || 6379, password: decodeURIComponent(password) };
}

/** The part of a client that is used here; all of it is known by shape. */
export interface NodeRedis extends GivenNodeRedis {
  readonly isOpen: boolean;
  /** It is absent in a Cluster of node-redis 5. */
  readonly isReady?: boolean;
  /** Only a Cluster has these. */
  readonly masters?: readonly ClusterNode[];
  readonly slots?: readonly ({ readonly master: ClusterNode } | undefined)[];
  readonly _slots?: {
    /** The second is of node-redis 6. */
    rediscover(startWith: { options: object }, without: { has(): boolean }): Promise<void>;
  };
  nodeClient?(node: object): Node | Promise<Node>;
  /** Before the command: by Sentinel whether it only reads, in a Cluster also its key. */
  sendCommand(...command: readonly unknown[]): Promise<unknown>;
  /** Lends its connection to the master; only a Sentinel client has it. */
  _execute?(isReadonly: boolean, use: (node: Node) => Promise<Node>): Promise<Node>;
  connect(): Promise<unknown>;
  destroy(): unknown;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  on(event: string, listener: (argument: never) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

interface ClusterNode {
  client?: Node | undefined;
  connectPromise?: Promise<Node> | undefined;
}

export interface Node extends NodeRedis {
  duplicate(overrides: object): NodeRedis;
}
