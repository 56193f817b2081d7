/**
 * A client of node-redis by its shape, and its options: for one Redis, by Sentinel, for a Cluster.
 */
import { type Emitter, invalidClient, type Login } from './redis-client.js';

export interface Socket extends Login {
  readonly path?: string;
  readonly tls?: unknown;
  readonly reconnectStrategy?: unknown;
  readonly socketTimeout?: number;
}

/** The options for one Redis; those of Sentinel and of a Cluster contain them. */
export interface NodeOptions extends Login {
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

/** The part of our own client that is used. */
export interface NodeRedis extends GivenNodeRedis, Emitter {
  readonly isOpen: boolean;
  /** It is absent in a Cluster of node-redis 5. */
  readonly isReady?: boolean;
  /** Only a Cluster has these. */
  readonly masters?: readonly ClusterNode[];
  readonly slots?: readonly ({ readonly master: ClusterNode } | undefined)[];
  readonly _slots?: Slots;
  nodeClient?(node: object): Node | Promise<Node>;
  /** Before the command: by Sentinel whether it only reads, in a Cluster also its key. */
  sendCommand(...command: readonly unknown[]): Promise<unknown>;
  /** Lends its connection to the master; only a Sentinel client has it. */
  _execute?(isReadonly: boolean, use: (node: Node) => Promise<Node>): Promise<Node>;
  connect(): Promise<unknown>;
  destroy(): unknown;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
}

interface ClusterNode {
  client?: Node | undefined;
  connectPromise?: Promise<Node> | undefined;
}

export interface Node extends NodeRedis {
  duplicate(overrides: object): NodeRedis;
}

interface Slots {
  /** The second is of node-redis 6. */
  rediscover(startWith: { options: object }, without: { has(): boolean }): Promise<void>;
}

/**
 * Leaves the master of a key, and has the Cluster look for its slots anew, which it does by itself
 * only where a node refuses one. No node is asked but one that answers and those of the options:
 * of the nodes that it knows one hangs.
 *
 * @return the end of the search, found or not; undefined if no other node answers
 */
export function leaveMaster(cluster: NodeRedis, slot: number): Promise<void> | undefined {
  const { slots, masters = [], _slots } = cluster;
  const node = slots?.[slot]?.master;
  const other = masters.find(({ client }) => client?.isReady && client !== node?.client);
  if (!node || !other || !_slots) return undefined;
  const { client } = node;
  // The next call makes another one, of whichever node has the slot then.
  node.client = node.connectPromise = undefined;
  if (client?.isOpen) client.destroy();
  const options = impatient(other.client!.options!);
  const everyNode = { has: () => true };
  // Where nobody tells, whoever waits for an answer comes back.
  return _slots.rediscover({ options }, everyNode).catch(() => undefined);
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

export function isNodeRedis(value: object): boolean {
  // A pool answers to the same names, and subscribes to nothing.
  if ('totalClients' in value) return false;
  const { isOpen, connect, destroy } = value as Partial<NodeRedis>;
  return [typeof isOpen, typeof connect, typeof destroy].join() === 'boolean,function,function';
}

export function kindOf(client: GivenNodeRedis): 'standalone' | 'sentinel' | 'cluster' {
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

export function loginOf(url: unknown): Login {
  if (typeof url !== 'string' || !URL.canParse(url)) return {};
  const { hostname: host, port, password } = new URL(url);
  return { host, port: port || 6379, password: decodeURIComponent(password) };
}

class Given {
  constructor(options: object) {
    Object.assign(this, options);
  }
}
