/**
 * Ids made in Redis, as redis-id-generator makes them: one or several nodes, the shard by the call.
 *
 * Guarantee: no id twice, also after Redis lost data or its clock was set back; see lib/counters.
 */
import { countedIds } from '../../counters/ids/store-ids.js';
import type { IdOptions } from '../../counters/ids/store-ids-options.js';
import { splitQuery, wholeNumber } from '../../counters/segments/segments.js';
import type { GeneratorKind } from '../../generator.js';
import { refuse, refused, unknownNames } from '../../options.js';
import {
  countersFromUrl,
  redisCounters,
  type RedisCounters,
  type RedisCountersOptions,
} from './redis-counters.js';
import type { GivenRedis } from './redis-options.js';

/** Options of redisIds(). */
export interface RedisIdsOptions extends IdOptions, Omit<RedisCountersOptions, 'redis'> {
  /**
   * An ioredis client (Redis or Cluster), whose settings are used, or a URL; several of them where
   * each makes its own part of the ids. Their order is kept in them, so it must stay as it is.
   */
  readonly redis: GivenRedis | readonly GivenRedis[];
}

const NAMES = 'redis, tag, layout, aheadMs, prefetch, namespace, prefix, lossWindowMs';

/**
 * Ids made in Redis by its clock, without a worker id: on one Redis they rise strictly over all
 * processes. Behind the same IdMaker; `shard` and every other field are filled by the call.
 *
 * The options are checked when the application starts, with its other options.
 *
 * @example
 * ```ts
 * import { Inject } from '@nestjs/common';
 * import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
 * import { redisIds } from 'nestjs-snowflake/redis';
 *
 * const imports = [
 *   SnowflakeModule.forRoot({
 *     generator: redisIds({ redis: 'redis://localhost:6379?namespace=shop', tag: 'order' }),
 *   }),
 * ];
 *
 * export class Orders {
 *   constructor(@Inject(IdMaker) private readonly ids: IdMaker) {}
 *
 *   newId(userId: number): Promise<bigint> {
 *     return this.ids.nextIdAsync({ fields: { shard: userId % 4096 } });
 *   }
 * }
 * ```
 */
export function redisIds(options: RedisIdsOptions): GeneratorKind {
  return {
    kind: 'counted',
    open(environment) {
      const { redis, namespace, prefix, lossWindowMs, ...others } = checked(options);
      const given = { namespace, prefix, lossWindowMs };
      const stores = nodesOf(redis).map((node) => storeOf(node, given));
      return countedIds({ stores, ...others }).open(environment);
    },
  };
}

function checked(options: RedisIdsOptions): RedisIdsOptions {
  refuse(unknownNames(options, NAMES, 'redisIds()'));
  return options;
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

/**
 * The ids of a URL, redis://localhost:6379?namespace=shop&tag=order&prefetch=1000&staleMs=1000.
 *
 * @throws SnowflakeError CONFIG_INVALID
 */
export function idsFromUrl(url: string): GeneratorKind {
  const { own, rest } = splitQuery(url, ['tag', 'aheadMs', 'prefetch', 'staleMs']);
  const number = (name: string) =>
    own.has(name) ? Number(wholeNumber(name, own.get(name)!)) : undefined;
  const [aheadMs, count, staleMs] = ['aheadMs', 'prefetch', 'staleMs'].map(number);
  if ((count === undefined) !== (staleMs === undefined)) {
    throw refused(['Expected `prefetch` and `staleMs` together in the URL, or neither.']);
  }
  const prefetch = count !== undefined && staleMs !== undefined ? { count, staleMs } : undefined;
  return redisIds({
    redis: rest,
    tag: own.get('tag') ?? '',
    ...(aheadMs !== undefined && { aheadMs }),
    ...(prefetch && { prefetch }),
  });
}
