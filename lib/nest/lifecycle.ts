/**
 * Nest's hooks: a worker id is leased before any onModuleInit of the application and released
 * after its last onApplicationShutdown. module-order.ts puts our module in that place.
 *
 * Promise: if one generator of an application cannot start, the others are stopped too.
 */
import type { OnApplicationShutdown, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { GeneratorRun, type RunParts } from './generator-run.js';
import { startFirstEndLast } from './module-order.js';
import { packageAdvice } from './package-advice.js';
import { SNOWFLAKE_LIFECYCLE } from './tokens.js';

export interface ApplicationParts {
  readonly discovery: DiscoveryService;
  readonly modules: ModulesContainer | undefined;
}

export class SnowflakeLifecycle implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly run: GeneratorRun;

  constructor(
    parts: RunParts,
    private readonly application: ApplicationParts,
  ) {
    this.run = new GeneratorRun(parts);
    startFirstEndLast(application.modules, SNOWFLAKE_LIFECYCLE);
  }

  async onModuleInit(): Promise<void> {
    const { discovery } = this.application;
    // One line of log, however many generators there are.
    if (this.ofApplication()[0] === this) this.run.warn(packageAdvice());
    try {
      await this.run.start(() =>
        discovery.getProviders().map(({ instance }) => instance as unknown),
      );
    } catch (error) {
      // An application that did not start may never be closed.
      await Promise.all(this.ofApplication().map((lifecycle) => lifecycle.onApplicationShutdown()));
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

  private ofApplication(): SnowflakeLifecycle[] {
    return this.application.discovery
      .getProviders()
      .filter(({ token }) => token === SNOWFLAKE_LIFECYCLE)
      .map(({ instance }) => instance as SnowflakeLifecycle);
  }
}
