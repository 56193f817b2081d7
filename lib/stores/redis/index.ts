/**
 * Worker ids, counters and locks in Redis, by whichever client: `nestjs-snowflake/redis`.
 */
export { RedisSupport, redisSupport } from './redis.support.js';
export type { RedisSupportOptions } from './redis.support.js';
export { RedisLocks, redisLocks } from './redis-locks.js';
export type { RedisLocksOptions } from './redis-locks.js';
export { RedisCounters, redisCounters } from './redis-counters.js';
export type { RedisCountersOptions } from './redis-counters.js';
export type { GivenClient } from './redis-client.js';
