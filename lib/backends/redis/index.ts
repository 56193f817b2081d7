/**
 * Worker ids leased from Redis, and counters in it, by ioredis: `nestjs-snowflake/redis`.
 */
export { RedisSupport, redisSupport, supportFromUrl } from './worker-ids/redis.support.js';
export type { RedisSupportOptions } from './worker-ids/redis.support.js';
export { RedisLocks, redisLocks, locksFromUrl } from './locks/redis-locks.js';
export type { RedisLocksOptions } from './locks/redis-locks.js';
export { RedisCounters, redisCounters, countersFromUrl } from './counters/redis-counters.js';
export type { RedisCountersOptions } from './counters/redis-counters.js';
export { redisIds, idsFromUrl } from './ids/redis-ids.js';
export type { RedisIdsOptions } from './ids/redis-ids.js';
export type { GivenClient } from './connection/redis-client.js';
