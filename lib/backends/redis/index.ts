/**
 * Worker ids leased from Redis by ioredis: `nestjs-snowflake/redis`.
 */
export { RedisSupport, redisSupport, supportFromUrl } from './redis.support.js';
export type { RedisSupportOptions } from './redis.support.js';
export type { GivenClient } from './redis-client.js';
