/**
 * The module that applications import. It only takes the options and lists what is exported:
 * providers.ts builds the generator, lifecycle.ts starts and stops it.
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

/** What forRoot() and forRootAsync() take beside the options. */
export interface SnowflakeModuleExtras {
  /** Whether other modules can inject IdMaker without importing this one. Default true. */
  isGlobal?: boolean | undefined;
  /** Names a further generator, which is injected with `@InjectIdMaker(name)`. */
  name?: string | undefined;
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
        global: isGlobal ?? true,
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
 * The application imports `ScheduleModule.forRoot()` itself: if a library imported it too, every
 * job of the application would run twice.
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
  /** Takes options that are known now. Every fault in them is reported when Nest starts. */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    if (isObject(options)) return super.forRoot(options);
    // Reported at start with the other faults, not while the modules of the application load.
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
          `${shown(options)}.`,
      ]);
    };
    return super.forRootAsync({ useFactory });
  }
}

const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
