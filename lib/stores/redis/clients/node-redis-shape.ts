/**
 * The structure of a node-redis client and of its options: one Redis, Sentinel, or a Cluster.
 */
import { type Emitter, invalidClient, type Login } from './redis-client.js';

/** The options for one Redis; those of Sentinel and of a Cluster contain them. */
export interface NodeOptions extends Login {
  readonly socket?: Login & { readonly path?: string; readonly tls?: unknown };
  readonly url?: unknown;
  readonly database?: unknown;
  readonly commandOptions?: { readonly timeout?: number };
}

export interface GivenOptions extends NodeOptions {
  readonly rootNodes?: readonly NodeOptions[];
  readonly defaults?: NodeOptions;
  readonly name?: string | undefined;
  readonly sentinelRootNodes?: readonly Login[];
  readonly nodeClientOptions?: NodeOptions;
  readonly sentinelClientOptions?: NodeOptions;
}

/** The structure of a client, whether the library's own or one that an application passes. */
export interface NodeRedis extends Emitter {
  readonly isOpen: boolean;
  /** Absent in a Cluster of node-redis 5. */
  readonly isReady?: boolean;
  /** A client of one Redis has the first, and a Cluster the second. */
  readonly options?: GivenOptions;
  readonly _options?: GivenOptions;
  /** Only a Sentinel client has these; the last one lends its connection to the master. */
  readonly _self?: unknown;
  getSentinelNode?: unknown;
  _execute?(isReadonly: boolean, use: (node: NodeRedis) => Promise<NodeRedis>): Promise<NodeRedis>;
  /** Only a Cluster has these; only node-redis 6 uses the second argument of the last one. */
  readonly masters?: readonly ClusterNode[];
  readonly slots?: readonly ({ readonly master: ClusterNode } | undefined)[];
  nodeClient?(node: object): NodeRedis | Promise<NodeRedis>;
  readonly _slots?: { rediscover(node: object, without: { has(): boolean }): Promise<void> };
  /** Absent in a Sentinel client of node-redis 5. */
  duplicate?(overrides?: object): NodeRedis;
  /**
   * Extra arguments come before the command: with Sentinel, whether it only reads; in a Cluster,
   * also its key.
   */
  sendCommand(...command: readonly unknown[]): Promise<unknown>;
  connect(): Promise<unknown>;
  destroy(): unknown;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
}

interface ClusterNode {
  client?: NodeRedis | undefined;
  connectPromise?: Promise<NodeRedis> | undefined;
}

/**
 * Drops the connection to the master of a key, and makes the Cluster client search for its slots
 * again. The client searches by itself only if a node rejects a slot. The search uses one
 * responding node and those of the options, because one of the known nodes hangs.
 *
 * @return resolves when the search ends, successful or not; undefined if no other node responds
 */
export function leaveMaster(cluster: NodeRedis, slot: number): Promise<void> | undefined {
  const { slots, masters = [], _slots } = cluster;
  const node = slots?.[slot]?.master;
  const other = masters.find(({ client }) => client?.isReady && client !== node?.client);
  if (!node || !other || !_slots) return undefined;
  const { client } = node;
  // The next call connects to the node that has the slot then.
  node.client = node.connectPromise = undefined;
  if (client?.isOpen) client.destroy();
  const options = impatient(other.client!.options!);
  const everyNode = { has: () => true };
  // If no node responds, a caller that still waits starts another search.
  return _slots.rediscover({ options }, everyNode).catch(() => undefined);
}

/** The default connection timeout of node-redis. */
const UNHEARD_MS = 5000;

/**
 * For a connection that only requests the slots. Without a limit, a node that accepts the
 * connection and never responds would keep the Cluster client from asking any other node, forever.
 */
export function impatient(node: NodeOptions): object {
  return { ...node, socket: { socketTimeout: UNHEARD_MS, ...node.socket } };
}

export function isNodeRedis(value: object): boolean {
  // A pool has the same methods, but cannot subscribe.
  if ('totalClients' in value) return false;
  const { isOpen, connect, destroy } = value as Partial<NodeRedis>;
  return [typeof isOpen, typeof connect, typeof destroy].join() === 'boolean,function,function';
}

export function kindOf(client: NodeRedis): 'standalone' | 'sentinel' | 'cluster' {
  if ('masters' in client) return 'cluster';
  return typeof client.getSentinelNode === 'function' ? 'sentinel' : 'standalone';
}

/** @throws SnowflakeError CONFIG_INVALID */
export function optionsOf(client: NodeRedis): GivenOptions {
  if (kindOf(client) !== 'sentinel') return client.options ?? client._options ?? {};
  // The options are private, except to the constructor of its duplicates.
  const given = Object.create({ _self: client._self, constructor: Given }) as NodeRedis;
  const options = client.duplicate?.call(given) as GivenOptions | undefined;
  if (options?.sentinelRootNodes !== undefined) return options;
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
