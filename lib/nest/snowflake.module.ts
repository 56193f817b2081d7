/**
 * The module that applications import. It takes the options and lists the exports. engine.ts builds
 * the generator, and lifecycle.ts starts and stops it.
 */
import { Module, type DynamicModule } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { format } from '../messages.js';
import { workerEngine, type WorkerEngine } from './engine.js';
import { buildModule, ENGINE, MODULES, provide, twiceFaults } from './providers.js';
import { RefreshAlive } from './refresh-alive.job.js';
import {
  resolveOptions,
  type SnowflakeConfig,
  type SnowflakeModuleOptions,
} from './resolve-options.js';
import { invalid } from './resolve-support.js';
import {
  getDistributedSupportToken,
  getRefreshAliveToken,
  SNOWFLAKE_CONFIG,
  SNOWFLAKE_OPTIONS,
} from './tokens.js';

const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } = buildModule<
  SnowflakeModuleOptions,
  'createSnowflakeOptions'
>('createSnowflakeOptions', snowflakeParts);

/** For `useClass` and `useExisting` of forRootAsync. */
export interface SnowflakeOptionsFactory {
  createSnowflakeOptions(): SnowflakeModuleOptions | Promise<SnowflakeModuleOptions>;
}

/**
 * Registers an injectable IdMaker, its IDistributedSupport, and the RefreshAlive job.
 *
 * The application imports `ScheduleModule.forRoot()` itself. If a library imported it too, every
 * job of the application would run two times.
 *
 * @example
 * ```ts
 * import { ScheduleModule } from '@nestjs/schedule';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 *
 * const imports = [
 *   ScheduleModule.forRoot(),
 *   SnowflakeModule.forRoot({ support: 'redis://localhost:6379?namespace=shop' }),
 * ];
 * ```
 */
@Module({})
export class SnowflakeModule extends ConfigurableModuleClass {
  /** Takes options that are known now. Nest reports all their errors at start. */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    if (isObject(options)) return super.forRoot(options);
    // The start reports this error with the others, not while the application's modules load.
    return super.forRootAsync({ useFactory: () => options });
  }

  /** Takes options from a factory, a class or a provider: useFactory, useClass, useExisting. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    if (isObject(options) && SOURCES.some((source) => options[source])) {
      return super.forRootAsync(options);
    }
    const useFactory = () => {
      throw invalid([
        `Expected the argument of forRootAsync to have one of ${SOURCES.join(', ')}, got ` +
          `${format(options)}.`,
      ]);
    };
    return super.forRootAsync({ useFactory });
  }
}

const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/*
 * One generator as Nest providers: options -> config -> support -> engine -> IdMaker -> lifecycle.
 *
 * Guarantee: with the support overridden, no other store is contacted; with IdMaker overridden, no
 * store at all.
 */

/** Optional, so a missing ScheduleModule is reported together with the other errors. */
const SCHEDULER = { token: SchedulerRegistry, optional: true };
function snowflakeParts(name: string | undefined) {
  const support = getDistributedSupportToken(name);
  const refreshAlive = getRefreshAliveToken(name);
  const providers = [
    provide(
      SNOWFLAKE_CONFIG,
      (
        options: SnowflakeModuleOptions,
        scheduler?: SchedulerRegistry,
        modules?: ModulesContainer,
      ) => resolveOptions(options, scheduler !== undefined, twiceFaults(modules, name)),
      [SNOWFLAKE_OPTIONS, SCHEDULER, MODULES],
    ),
    provide(support, (config: SnowflakeConfig) => config.support, [SNOWFLAKE_CONFIG]),
    provide(
      ENGINE,
      (config: SnowflakeConfig, given: IDistributedSupport) => workerEngine(config, given, name),
      [SNOWFLAKE_CONFIG, support],
    ),
    provide(
      refreshAlive,
      (scheduler: SchedulerRegistry, engine: WorkerEngine, config: SnowflakeConfig) =>
        new RefreshAlive(scheduler, engine.keeper, config, name),
      [SCHEDULER, ENGINE, SNOWFLAKE_CONFIG],
    ),
  ];
  return { providers, parts: { support, refreshAlive } };
}
