/**
 * The module applications import.
 *
 * It only names what belongs together; providers.ts builds it, lifecycle.ts starts and stops it.
 */
import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { shown } from '../shown.js';
import { invalid } from './config-faults.js';
import type { SnowflakeModuleOptions } from './options.js';
import { snowflakeProviders } from './providers.js';
import {
  SNOWFLAKE_OPTIONS,
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './tokens.js';

export interface SnowflakeModuleExtras {
  /** Whether other modules can inject IdMaker without importing this one. Default true. */
  isGlobal?: boolean;
  /** For a further generator, injected with @InjectIdMaker(name). */
  name?: string;
}

const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SnowflakeModuleOptions>({
    optionsInjectionToken: SNOWFLAKE_OPTIONS,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createSnowflakeOptions')
    .setExtras<SnowflakeModuleExtras>(
      { isGlobal: true, name: undefined },
      (definition, { isGlobal, name }) => ({
        ...definition,
        global: isGlobal,
        imports: [...(definition.imports ?? []), DiscoveryModule],
        providers: [...(definition.providers ?? []), ...snowflakeProviders(name)],
        exports: [
          getIdMakerToken(name),
          getDistributedSupportToken(name),
          getRefreshAliveToken(name),
        ],
      }),
    )
    .build();

/** For `useClass` and `useExisting` of forRootAsync. */
export interface SnowflakeOptionsFactory {
  createSnowflakeOptions(): SnowflakeModuleOptions | Promise<SnowflakeModuleOptions>;
}

/**
 * Registers an injectable IdMaker, its IDistributedSupport, and the RefreshAlive job.
 *
 * The application imports `ScheduleModule.forRoot()` itself: a library that did it too would make
 * every job of the application run twice.
 *
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 * import { ScheduleModule } from '@nestjs/schedule';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 *
 * @Module({
 *   imports: [
 *     ScheduleModule.forRoot(),
 *     SnowflakeModule.forRoot({ support: 'redis://localhost:6379?namespace=shop' }),
 *   ],
 * })
 * export class AppModule {}
 * ```
 */
@Module({})
export class SnowflakeModule extends ConfigurableModuleClass {
  /** Options known now. Every fault in them is reported when the application starts. */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    if (isObject(options)) return super.forRoot(options);
    // Reported at the start, with the other faults, and not while the application's modules load.
    return super.forRootAsync({ useFactory: () => options });
  }

  /** Options from a factory, a class or an existing provider: useFactory, useClass, useExisting. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    if (isObject(options) && SOURCES.some((source) => options[source])) {
      return super.forRootAsync(options);
    }
    const useFactory = () => {
      throw invalid([
        `Expected forRootAsync to be given one of ${SOURCES.join(', ')}, got ${shown(options)}.`,
      ]);
    };
    return super.forRootAsync({ useFactory });
  }
}

const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
