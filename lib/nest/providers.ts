/**
 * One generator as Nest providers: options -> config -> support -> engine -> IdMaker -> lifecycle.
 *
 * Promise: with the support overridden, nothing else contacts a store; with IdMaker overridden,
 * nothing at all does.
 */
import type { InjectionToken, Provider } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { createEngine, type Engine } from './engine.js';
import type { RunParts } from './generator-run.js';
import { SnowflakeLifecycle, type ApplicationParts } from './lifecycle.js';
import { providerCount } from './module-order.js';
import type { SnowflakeConfig } from './config.js';
import { resolveOptions, type SnowflakeModuleOptions } from './options.js';
import { RefreshAlive } from './refresh-alive.job.js';
import {
  SNOWFLAKE_CONFIG,
  SNOWFLAKE_LIFECYCLE,
  SNOWFLAKE_OPTIONS,
  SNOWFLAKE_RUN_PARTS,
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './tokens.js';

/** Optional, so that a missing ScheduleModule is reported together with the other faults. */
const SCHEDULER = { token: SchedulerRegistry, optional: true };
/** Optional, since Nest does not document it. */
const MODULES = { token: ModulesContainer, optional: true };

const ENGINE = Symbol.for('nestjs-snowflake:engine');

export function snowflakeProviders(name: string | undefined): Provider[] {
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
