/**
 * `nestjs-snowflake/redis-ids`: ids made in Redis, without a worker id.
 */
export { RedisIdsModule, startRedisIds } from './redis-ids.module.js';
export type {
  RedisIdsModuleOptions,
  RedisIdsOptionsFactory,
  RedisIdsScriptOptions,
} from './redis-ids.module.js';
export type { GeneratorOptions } from '../generator-module.js';
export type { RedisIdsOptions } from '../../stores/redis/redis-ids.js';
export type { IdOptions, PrefetchOptions } from '../../counters/ids/store-ids-options.js';
