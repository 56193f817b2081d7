/**
 * The module that applications import. It only takes the options and lists what is exported:
 * providers.ts builds the generator, lifecycle.ts starts and stops it.
 */
import {
  ConfigurableModuleBuilder,
  Module,
  type DynamicModule,
  type InjectionToken,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModulesContainer } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { format } from '../messages.js';
import { createEngine, type Engine } from './engine.js';
import type { RunParts } from './generator-run.js';
import { providerCount, SnowflakeLifecycle, type ApplicationParts } from './lifecycle.js';
import { RefreshAlive } from './refresh-alive.job.js';
import {
  resolveOptions,
  type SnowflakeConfig,
  type SnowflakeModuleOptions,
} from './resolve-options.js';
import { invalid } from './resolve-support.js';
import {
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
  SNOWFLAKE_CONFIG,
  SNOWFLAKE_LIFECYCLE,
  SNOWFLAKE_OPTIONS,
  SNOWFLAKE_RUN_PARTS,
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
 * Guarantee: with the support overridden, nothing else contacts a store; with IdMaker overridden,
 * nothing at all does.
 */

/** Optional, so that a missing ScheduleModule is reported together with the other faults. */
const SCHEDULER = { token: SchedulerRegistry, optional: true };
/** Optional, since Nest does not document it. */
const MODULES = { token: ModulesContainer, optional: true };

const ENGINE = Symbol.for('nestjs-snowflake:engine');

function snowflakeProviders(name: string | undefined): Provider[] {
  const supportToken = getDistributedSupportToken(name);
  const idMakerToken = getIdMakerToken(name);
  const refreshAliveToken = getRefreshAliveToken(name);
  return [
    provide(
      SNOWFLAKE_CONFIG,
      (
        options: SnowflakeModuleOptions,
        scheduler?: SchedulerRegistry,
        modules?: ModulesContainer,
      ) => resolveOptions(options, scheduler !== undefined, twiceFaults(modules, name)),
      [SNOWFLAKE_OPTIONS, SCHEDULER, MODULES],
    ),
    provide(supportToken, (config: SnowflakeConfig) => config.support, [SNOWFLAKE_CONFIG]),
    provide(
      ENGINE,
      (config: SnowflakeConfig, support: IDistributedSupport) =>
        createEngine(config, support, name),
      [SNOWFLAKE_CONFIG, supportToken],
    ),
    provide(idMakerToken, (engine: Engine) => engine.idMaker, [ENGINE]),
    provide(
      refreshAliveToken,
      (scheduler: SchedulerRegistry, engine: Engine, config: SnowflakeConfig) =>
        new RefreshAlive(scheduler, engine.keeper, config, name),
      [SCHEDULER, ENGINE, SNOWFLAKE_CONFIG],
    ),
    provideParts(
      SNOWFLAKE_RUN_PARTS,
      { name },
      {
        config: SNOWFLAKE_CONFIG,
        support: supportToken,
        engine: ENGINE,
        idMaker: idMakerToken,
        refreshAlive: refreshAliveToken,
      },
    ),
    provide(
      SNOWFLAKE_LIFECYCLE,
      (parts: RunParts, discovery: DiscoveryService, modules?: ModulesContainer) => {
        const application: ApplicationParts = { discovery, modules };
        return new SnowflakeLifecycle(parts, application);
      },
      [SNOWFLAKE_RUN_PARTS, DiscoveryService, MODULES],
    ),
  ];
}

/** With two generators under one token it would be chance which of them is injected. */
function twiceFaults(modules: ModulesContainer | undefined, name: string | undefined): string[] {
  const count = providerCount(modules, getIdMakerToken(name));
  if (count < 2) return [];
  const which = name === undefined ? 'without a `name`' : `with the name '${name}'`;
  return [
    `SnowflakeModule is registered ${count} times ${which}, so an injected IdMaker could be ` +
      'any of them. Call forRoot or forRootAsync once for each generator and give each further ' +
      'one its own `name`. If several modules import one generator, keep the dynamic module in a ' +
      'constant and import that.',
  ];
}

type Dependency = InjectionToken | { readonly token: InjectionToken; readonly optional: boolean };

function provide(
  token: InjectionToken,
  useFactory: (...dependencies: never[]) => unknown,
  inject: Dependency[],
): Provider {
  return { provide: token, useFactory, inject } as Provider;
}

/** Several providers as one object, so that no constructor takes a long list of them. */
function provideParts(
  token: InjectionToken,
  known: object,
  tokens: Readonly<Record<string, InjectionToken>>,
): Provider {
  const names = Object.keys(tokens);
  const useFactory = (...parts: unknown[]) => ({
    ...known,
    ...Object.fromEntries(names.map((name, at) => [name, parts[at]])),
  });
  return { provide: token, useFactory, inject: Object.values(tokens) };
}
