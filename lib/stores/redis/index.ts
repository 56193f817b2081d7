/**
 * Worker IDs, counters and locks in Redis, with any supported client: `nestjs-snowflake/redis`.
 */
export { RedisSupport, redisSupport, type RedisSupportOptions } from './redis.support.js';
export { RedisLocks, redisLocks, type RedisLocksOptions } from './redis-locks.js';
export { RedisCounters, redisCounters, type RedisCountersOptions } from './redis-counters.js';
export type { GivenClient } from './redis-client.js';
