/**
 * Clients of ioredis 5 and 6, and of iovalkey, which has the same shape: one Redis, Sentinel and
 * Cluster.
 */
import { IoredisClient, type Ioredis } from './ioredis-client.js';
import { locate } from './ioredis-given.js';
import { optionsOfUrl, overridesOf } from './ioredis-options.js';
import type { ClientLibrary } from './redis-client.js';

type Constructors = Readonly<Record<'Redis' | 'Cluster', new (...given: unknown[]) => Ioredis>>;

export const IOREDIS: ClientLibrary = {
  hasSentinel: true,
  isClient(value) {
    const { status, duplicate } = value as Partial<Ioredis>;
    return typeof status === 'string' && typeof duplicate === 'function';
  },
  isReplicated(client) {
    const { isCluster, options } = client as Ioredis;
    return isCluster === true || Boolean(options?.sentinels);
  },
  locate: (client) => locate(client as Ioredis),
  duplicate(client) {
    const ours = (client as Ioredis).duplicate(...overridesOf(client as Ioredis));
    // Newer versions of ioredis have these options, of a single server and of a Cluster.
    const isSure = ['clientInfoTag', 'shardedSubscribers'].some((name) => name in ours.options!);
    return new IoredisClient(ours, isSure ? 'ioredis' : 'ioredis or iovalkey');
  },
  build(url, loaded, library) {
    const { Redis, Cluster } = loaded as Constructors;
    const made = url.kind === 'cluster' ? Cluster : Redis;
    return new IoredisClient(new made(...optionsOfUrl(url)), library);
  },
};
