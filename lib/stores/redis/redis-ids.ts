/**
 * Ids made in Redis, as redis-id-generator makes them: one or several nodes, the shard by the call.
 *
 * Guarantee: no ID twice, also after Redis lost data or its clock was set back; see lib/counters.
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

/** Says where the IDs are made, and which. */
export interface RedisIdsOptions extends IdOptions, Omit<RedisCountersOptions, 'redis'> {
  /**
   * A client of your application, whose settings are used, or a URL; several of them where
   * each makes its own part of the IDs. Their order is kept in them, so it must stay as it is.
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
  // Two connections to one database would be two stores that are one.
  const isTwice = nodes.some((node, at) => nodes.indexOf(node) < at);
  if (isTwice) throw refused(['The same Redis is given twice in `redis`. Give each of them once.']);
  return nodes;
}

/** Options beside a URL count for more than those in it. */
function storeOf(redis: GivenRedis, given: Omit<RedisCountersOptions, 'redis'>): RedisCounters {
  return typeof redis === 'string'
    ? countersFromUrl(redis, given)
    : redisCounters({ redis, ...given });
}
