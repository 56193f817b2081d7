/**
 * What this backend needs of an ioredis client, known by shape so that the package itself is only
 * loaded when a client has to be built from a URL.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: { readonly sentinels?: unknown };
  connect(): Promise<void>;
  disconnect(): void;
  quit(): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...args: (string | number)[]): Promise<unknown>;
  eval(lua: string, keyCount: number, ...args: (string | number)[]): Promise<unknown>;
  info(section: string): Promise<string>;
  on(event: string, listener: (error: Error) => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** A client of the application: ioredis' Redis (standalone, Sentinel) or Cluster. */
export type GivenClient = Pick<RedisClient, 'status' | 'isCluster' | 'options'> & {
  duplicate(...args: never[]): unknown;
};

/** Our connection answers at once or fails: the keeper repeats calls, the client must not queue. */
export const CONNECTION_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  // Two services with different prefixes would keep two registries for one id space.
  keyPrefix: '',
} as const;

/**
 * Our own connection to where the application's client leads. The application may close its client
 * in any hook: the worker id is still given back over ours.
 */
export function duplicateClient(client: GivenClient): RedisClient {
  const given = client as unknown as {
    duplicate(options: object): RedisClient;
    duplicate(nodes: never[], options: object): RedisClient;
  };
  const { maxRetriesPerRequest, ...clusterOptions } = CONNECTION_OPTIONS;
  if (!client.isCluster) return given.duplicate(CONNECTION_OPTIONS);
  return given.duplicate([], { ...clusterOptions, redisOptions: { maxRetriesPerRequest } });
}
