/**
 * One generator as Nest providers: options -> config -> support -> engine -> IdMaker -> lifecycle.
 *
 * Promise: replacing the support with overrideProvider replaces all that touches a store, and
 * replacing the IdMaker leaves nothing that would.
 */
import type { InjectionToken, Provider } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { createEngine, type Engine } from './engine.js';
import type { RunParts } from './generator-run.js';
import { SnowflakeLifecycle, type ApplicationParts } from './lifecycle.js';
import { providerCount } from './module-order.js';
import { resolveOptions, type SnowflakeConfig, type SnowflakeModuleOptions } from './options.js';
import { RefreshAlive } from './refresh-alive.job.js';
import {
  SNOWFLAKE_CONFIG,
  SNOWFLAKE_LIFECYCLE,
  SNOWFLAKE_OPTIONS,
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './tokens.js';

/** Optional, so that a missing ScheduleModule is told in our words together with other faults. */
const SCHEDULER = { token: SchedulerRegistry, optional: true };
/** Optional, since it is no part of Nest's documented face. */
const MODULES = { token: ModulesContainer, optional: true };

const ENGINE = Symbol.for('nestjs-snowflake:engine');
const RUN_PARTS = Symbol.for('nestjs-snowflake:run-parts');

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
      RUN_PARTS,
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
      [RUN_PARTS, DiscoveryService, MODULES],
    ),
  ];
}

/** Two generators under one token: which of them is injected would be chance. */
function twiceFaults(modules: ModulesContainer | undefined, name: string | undefined): string[] {
  const count = providerCount(modules, getIdMakerToken(name));
  if (count < 2) return [];
  const which = name === undefined ? 'without a `name`' : `with the name '${name}'`;
  return [
    `SnowflakeModule is registered ${count} times ${which}, so that an injected IdMaker could be ` +
      `any of them. Call forRoot or forRootAsync once for each generator and give further ones a ` +
      `\`name\` of their own; where several modules import one generator, import the same ` +
      `dynamic module, kept in a constant.`,
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

/** Several providers as one object, so that no constructor has to take them one by one. */
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
