/**
 * When things happen in a Nest application: the lease before any onModuleInit of the application,
 * its release after every onApplicationShutdown of the application. module-order.ts sees to that.
 *
 * Promise: when one generator of an application cannot start, the others are stopped with it.
 */
import type { OnApplicationShutdown, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { GeneratorRun, type RunParts } from './generator-run.js';
import { startFirstEndLast } from './module-order.js';
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
    startFirstEndLast(application.modules);
  }

  async onModuleInit(): Promise<void> {
    const { discovery } = this.application;
    try {
      await this.run.start(() =>
        discovery.getProviders().map(({ instance }) => instance as unknown),
      );
    } catch (error) {
      // Nobody may close an application that did not start.
      await Promise.all(this.ofApplication().map((lifecycle) => lifecycle.onApplicationShutdown()));
      throw error;
    }
  }

  /** The scheduler ends its jobs in one of the hooks between this and the release. */
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
