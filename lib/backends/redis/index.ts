/**
 * Worker ids leased from Redis by ioredis: `nestjs-snowflake/redis`.
 */
export { RedisSupport, redisSupport, supportFromUrl } from './worker-ids/redis.support.js';
export type { RedisSupportOptions } from './worker-ids/redis.support.js';
export type { GivenClient } from './connection/redis-client.js';
