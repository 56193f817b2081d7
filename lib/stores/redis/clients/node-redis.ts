/**
 * Clients of node-redis 5 and 6, the package `redis`: one Redis, Sentinel and Cluster.
 */
import { NodeRedisClient } from './node-redis-client.js';
import { kindOf, optionsOf, type Node, type NodeRedis } from './node-redis-given.js';
import { locate, optionsOfUrl, overridesOf } from './node-redis-options.js';
import type { ClientLibrary } from './redis-client.js';

const FACTORIES = {
  standalone: 'createClient',
  sentinel: 'createSentinel',
  cluster: 'createCluster',
} as const;
type Factories = Readonly<Record<string, (options: object) => NodeRedis>>;

export const NODE_REDIS: ClientLibrary = {
  hasSentinel: true,
  isClient(value) {
    // A pool answers to the same names, and subscribes to nothing.
    if ('totalClients' in value) return false;
    const { isOpen, connect, destroy } = value as Partial<NodeRedis>;
    return [typeof isOpen, typeof connect, typeof destroy].join() === 'boolean,function,function';
  },
  isReplicated: (client) => kindOf(client) !== 'standalone',
  locate: (client) => locate(client),
  duplicate(client) {
    const ours = (client as Node).duplicate(overridesOf(client));
    return new NodeRedisClient(ours, optionsOf(client));
  },
  build(url, loaded) {
    const options = optionsOfUrl(url);
    return new NodeRedisClient((loaded as Factories)[FACTORIES[url.kind]]!(options), options);
  },
};
