/**
 * When things happen: lease before other modules' onModuleInit, release after HTTP has stopped.
 *
 * Promise: a start that fails leaves no connection and no timer behind; one log line per change.
 */
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { Keeper } from '../lease/keeper.js';
import { addIdMaker, removeIdMaker } from './current-id-makers.js';
import type { IdMaker } from './id-maker.js';
import { runIntegrations } from './integrations.js';
import type { SnowflakeConfig } from './options.js';
import type { RefreshAlive } from './refresh-alive.job.js';

export interface LifecycleParts {
  readonly name: string | undefined;
  readonly config: SnowflakeConfig;
  readonly support: IDistributedSupport;
  readonly keeper: Keeper;
  readonly idMaker: IdMaker;
  readonly refreshAlive: RefreshAlive;
  readonly discovery: DiscoveryService;
  readonly logger: Logger;
}

export class SnowflakeLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(private readonly parts: LifecycleParts) {}

  async onModuleInit(): Promise<void> {
    const { name, config, keeper, idMaker, refreshAlive, discovery } = this.parts;
    try {
      if (config.lazy) void keeper.refresh();
      else await keeper.start();
    } catch (error) {
      await keeper.stop();
      throw error;
    }
    addIdMaker(name, idMaker);
    runIntegrations(discovery.getProviders().map(({ instance }) => instance as unknown));
    // A lease is renewed once, by the thread that holds it.
    if (keeper.renewsItself) refreshAlive.start();
    void this.advise();
  }

  async onApplicationShutdown(): Promise<void> {
    const { keeper, idMaker, refreshAlive } = this.parts;
    refreshAlive.stop();
    removeIdMaker(idMaker);
    await keeper.stop();
  }

  /** What the operator should know, once, in the background. */
  private async advise(): Promise<void> {
    const { config, support, logger } = this.parts;
    const warning = config.layout.warningAt(config.clock.now());
    if (warning !== undefined) logger.warn(warning);
    // Advice that cannot be had is no reason to disturb anybody: the renewals report the store.
    const advice = (await support.advice?.().catch(() => [])) ?? [];
    for (const text of advice) logger.warn(text);
  }
}
