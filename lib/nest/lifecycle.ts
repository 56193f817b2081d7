/**
 * Nest's hooks: a worker ID is leased before any onModuleInit of the application and released after
 * its last onApplicationShutdown. The second part of this file arranges this order.
 *
 * Guarantee: if one generator of an application cannot start, the others are stopped too.
 */
import type {
  InjectionToken,
  OnApplicationShutdown,
  OnModuleDestroy,
  OnModuleInit,
} from '@nestjs/common';
import type { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { GeneratorRun, type RunParts } from './generator-run.js';
import { SNOWFLAKE_LIFECYCLE } from './tokens.js';

export class SnowflakeLifecycle implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly run: GeneratorRun;

  constructor(
    parts: RunParts,
    private readonly discovery: DiscoveryService,
    modules: ModulesContainer | undefined,
  ) {
    this.run = new GeneratorRun(parts);
    startFirstEndLast(modules, SNOWFLAKE_LIFECYCLE);
  }

  async onModuleInit(): Promise<void> {
    try {
      await this.run.start(() =>
        this.discovery.getProviders().map(({ instance }) => instance as unknown),
      );
    } catch (error) {
      // An application that failed to start may never be closed.
      const all = this.discovery
        .getProviders()
        .filter(({ token }) => token === SNOWFLAKE_LIFECYCLE);
      const lifecycles = all.map(({ instance }) => instance as SnowflakeLifecycle);
      await Promise.all(lifecycles.map((lifecycle) => lifecycle.onApplicationShutdown()));
      throw error;
    }
  }

  /** The scheduler ends its jobs in a hook after this one and before the release. */
  onModuleDestroy(): void {
    this.run.renewAlone();
  }

  onApplicationShutdown(): Promise<void> {
    return this.run.stop();
  }
}

/*
 * The place of our module in an application: first to start, last to stop.
 *
 * Nest runs hooks by a module's distance from the root: the furthest module starts first and stops
 * last. All global modules have the same distance, and then the order of imports decides. The order
 * of imports also decides if a version of Nest has no distance.
 */

/** Above Number.MAX_VALUE, which is the distance of every global module. */
const FURTHEST = Infinity;

/** Call it before the first hook runs, because Nest then sorts the modules for all hooks. */
export function startFirstEndLast(
  modules: ModulesContainer | undefined,
  token: InjectionToken,
): void {
  for (const module of providing(modules, token)) {
    // An assignment would throw if the property were read-only.
    if (typeof module.distance === 'number') Reflect.set(module, 'distance', FURTHEST);
  }
}

interface ModuleFace {
  readonly providers?: ReadonlyMap<InjectionToken, unknown>;
  readonly distance?: unknown;
}

/** The modules of the application that provide a token. */
export function providing(
  modules: ModulesContainer | undefined,
  token: InjectionToken,
): ModuleFace[] {
  const all = [...(modules?.values() ?? [])] as ModuleFace[];
  return all.filter(({ providers }) => providers?.has?.(token));
}
