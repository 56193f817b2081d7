/**
 * `nestjs-snowflake/redis-ids`: IDs made in Redis, without a worker ID, with one call for each
 * batch.
 */
import { Module } from '@nestjs/common';
import { redisIds, type RedisIdsOptions } from '../../stores/redis/redis-ids.js';
import { generatorModule, startGenerator, type GeneratorOpener } from '../generator-module.js';
import type { RunningSnowflake } from '../start-snowflake.js';

import type { GeneratorOptions } from '../generator-options.js';
export type { GeneratorOptions } from '../generator-options.js';
export type { RedisIdsOptions } from '../../stores/redis/redis-ids.js';
export type { IdOptions, PrefetchOptions } from '../../counters/ids/store-ids-options.js';

/** Options of RedisIdsModule. */
export interface RedisIdsModuleOptions extends RedisIdsOptions, GeneratorOptions {}

/** The options of RedisIdsModule.forRoot(), and a name for the generator. */
export interface RedisIdsScriptOptions extends RedisIdsModuleOptions {
  /** Entities use this name: `@SnowflakeId({ generator: 'orders' })`. Default: no name. */
  readonly name?: string | undefined;
}

/** For `useClass` and `useExisting` of forRootAsync. */
export interface RedisIdsOptionsFactory {
  createRedisIdsOptions(): RedisIdsModuleOptions | Promise<RedisIdsModuleOptions>;
}

const REDIS_IDS: GeneratorOpener<RedisIdsOptions> = {
  example: "redis: 'redis://host:6379?namespace=shop', tag: 'order'",
  open: redisIds,
};

/**
 * Registers an injectable IdMaker whose IDs come from Redis and its clock, without a worker ID. On
 * one Redis they rise strictly across all processes. The call fills `shard` and every other field.
 * It works with or without SnowflakeModule.
 *
 * @example
 * ```ts
 * import { Inject } from '@nestjs/common';
 * import { IdMaker } from 'nestjs-snowflake';
 * import { RedisIdsModule } from 'nestjs-snowflake/redis-ids';
 *
 * const imports = [
 *   RedisIdsModule.forRoot({ redis: 'redis://localhost:6379?namespace=shop', tag: 'order' }),
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
@Module({})
export class RedisIdsModule extends generatorModule(REDIS_IDS, 'createRedisIdsOptions') {}

/**
 * Generates IDs in Redis for a script, until `close()`, or until the end of the block with `await
 * using`.
 *
 * @param options those of RedisIdsModule
 * @throws SnowflakeError CONFIG_INVALID with every fault in the options; or the reason why Redis
 * returned no ID within `startTimeoutMs`. Nothing is left open then.
 */
export function startRedisIds(options: RedisIdsScriptOptions): Promise<RunningSnowflake> {
  return startGenerator(REDIS_IDS, options);
}
