/**
 * IDs generated in Redis in the format of redis-id-generator: one or several nodes, with the shard
 * in the call.
 *
 * Guarantee: IDs stay unique, even after Redis lost data or its clock was set back; see
 * lib/counters.
 */
import { StoreIds } from '../../counters/ids/store-ids.js';
import { countedTerms, type IdOptions } from '../../counters/ids/store-ids-options.js';
import type { GeneratorEnvironment } from '../../generator.js';
import { refuse, refused, unknownNames } from '../../options.js';
import {
  countersFromUrl,
  redisCounters,
  type RedisCounters,
  type RedisCountersOptions,
} from './redis-counters.js';
import type { GivenRedis } from './redis-options.js';

/** Where the IDs are generated, and which ones. */
export interface RedisIdsOptions extends IdOptions, Omit<RedisCountersOptions, 'redis'> {
  /**
   * A client of your application, whose settings are used, or a URL. With several, each generates
   * its own part of the IDs. Their order is part of the IDs, so it must not change.
   */
  readonly redis: GivenRedis | readonly GivenRedis[];
}

const NAMES = 'redis, tag, layout, aheadMs, prefetch, namespace, prefix, lossWindowMs, keepsWrites';

/** @throws SnowflakeError CONFIG_INVALID */
export function redisIds(options: RedisIdsOptions, environment: GeneratorEnvironment): StoreIds {
  refuse(unknownNames(options, NAMES, 'RedisIdsModule'));
  const { redis, namespace, prefix, lossWindowMs, keepsWrites, ...others } = options;
  const given = { namespace, prefix, lossWindowMs, keepsWrites };
  const stores = nodesOf(redis).map((node) => storeOf(node, given));
  return new StoreIds(countedTerms({ stores, ...others }), environment);
}

function nodesOf(redis: RedisIdsOptions['redis']): readonly GivenRedis[] {
  const nodes = Array.isArray(redis) ? (redis as readonly GivenRedis[]) : [redis as GivenRedis];
  // Otherwise, two connections to one database would count as two stores.
  const isTwice = nodes.some((node, at) => nodes.indexOf(node) < at);
  if (isTwice) throw refused(['The same Redis is given twice in `redis`. Give each of them once.']);
  return nodes;
}

/** Options next to a URL override those in it. */
function storeOf(redis: GivenRedis, given: Omit<RedisCountersOptions, 'redis'>): RedisCounters {
  return typeof redis === 'string'
    ? countersFromUrl(redis, given)
    : redisCounters({ redis, ...given });
}
