/**
 * Our client: built from a URL or after the pattern of the application's.
 *
 * Clients are known by shape, so that ioredis itself is only loaded where a URL asks for it.
 * Promise: the application's client is neither used for commands nor closed.
 */
import { SnowflakeError } from '../../errors.js';
import type { RedisUrl } from './redis-url.js';

export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: object;
  connect(): Promise<void>;
  disconnect(): void;
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

/** Builds the client, not yet connected. @throws SnowflakeError CONFIG_INVALID without ioredis. */
export async function clientFromUrl(url: RedisUrl): Promise<RedisClient> {
  const { Redis, Cluster } = await loadIoredis();
  const { username, password, db } = url;
  const login = { username, password, ...(url.isTls && { tls: {} }) };
  if (url.kind === 'cluster') {
    const { maxRetriesPerRequest, ...options } = CONNECTION_OPTIONS;
    const redisOptions = { ...login, maxRetriesPerRequest };
    return new Cluster([...url.hosts], { ...options, redisOptions }) as unknown as RedisClient;
  }
  if (url.kind === 'sentinel') {
    const sentinels = [...url.hosts];
    const options = { ...CONNECTION_OPTIONS, ...login, db, sentinels, name: url.masterName! };
    return new Redis(options) as unknown as RedisClient;
  }
  const [{ host, port } = { host: 'localhost', port: 6379 }] = url.hosts;
  return new Redis({ ...CONNECTION_OPTIONS, ...login, db, host, port }) as unknown as RedisClient;
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>> {
  try {
    return await import('ioredis');
  } catch (cause) {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      'A Redis support needs the package ioredis, which could not be loaded. Run: npm ' +
        'install ioredis',
      { cause },
    );
  }
}
