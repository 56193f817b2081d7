/**
 * A client of node-redis by its shape, and what it was made with: of one Redis, by Sentinel, of a
 * Cluster.
 */
import type { RedisUrl } from '../redis-url.js';
import { invalidClient, type Login } from './location.js';

export interface Socket extends Login {
  readonly path?: string;
  readonly tls?: unknown;
  readonly reconnectStrategy?: unknown;
}

/** Of a client of one Redis, which those of Sentinel and of a Cluster have in theirs. */
export interface NodeOptions extends Login {
  readonly socket?: Socket;
  readonly url?: unknown;
  readonly username?: unknown;
  readonly database?: unknown;
  readonly commandOptions?: { readonly timeout?: number };
}

/** Of whichever client. */
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

/** Where a client leads, by shape. */
export interface GivenNodeRedis {
  /** Of a client of one Redis. */
  readonly options?: GivenOptions;
  /** Of a Cluster. */
  readonly _options?: GivenOptions;
  readonly masters?: unknown;
  /** Of Sentinel. */
  getSentinelNode?: unknown;
  readonly _self?: unknown;
  /** Absent in a Sentinel client of node-redis 5. */
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

export function loginOf(url: unknown): Login {
  if (typeof url !== 'string' || !URL.canParse(url)) return {};
  const { hostname: host, port, password } = new URL(url);
  return { host, port: port || 6379, password: decodeURIComponent(password) };
}

/** The part of a client that is used here; all of it is known by shape. */
export interface NodeRedis extends GivenNodeRedis {
  readonly isOpen: boolean;
  /** Absent in a Cluster of node-redis 5. */
  readonly isReady?: boolean;
  /** Of a Cluster. */
  readonly masters?: readonly object[];
  nodeClient?(node: object): Node | Promise<Node>;
  /** Before the command: by Sentinel whether it only reads, in a Cluster also its key. */
  sendCommand(...command: readonly unknown[]): Promise<unknown>;
  /** Of Sentinel: lends its connection to the master. */
  _execute?(isReadonly: boolean, use: (node: Node) => Promise<Node>): Promise<Node>;
  connect(): Promise<unknown>;
  destroy(): unknown;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  on(event: string, listener: (argument: never) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

export interface Node extends NodeRedis {
  duplicate(overrides: object): NodeRedis;
}
