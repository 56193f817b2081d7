/**
 * The generators of the application, found by themselves, and the list of workers of each.
 *
 * Promise: whatever `SnowflakeModule` registered is shown, with or without a name, once. What
 * stands in for an IdMaker in a test is left out.
 */
import { Injectable } from '@nestjs/common';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { systemHolder } from '../patience/process-identity.js';
import { systemTimers } from '../patience/timers.js';
import { IdMaker } from '../nest/id-maker.js';
import type { SnowflakeConfig } from '../nest/options.js';
import { SNOWFLAKE_CONFIG, generatorOf, getDistributedSupportToken } from '../nest/tokens.js';
import { WorkerList } from './worker-list.js';

export interface ShownGenerator {
  readonly name: string | undefined;
  readonly ids: IdMaker;
  readonly support: IDistributedSupport;
  readonly application: string;
  readonly workers: WorkerList;
}

@Injectable()
export class ShownGenerators {
  private found: readonly ShownGenerator[] | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly moduleRef: ModuleRef,
  ) {}

  /** Empty where the application has none. */
  all(): readonly ShownGenerator[] {
    this.found ??= this.discovery.getProviders().flatMap(({ token, instance, host }) => {
      const generator = generatorOf(token);
      const ids = instance as unknown;
      if (generator === undefined || !(ids instanceof IdMaker)) return [];
      const config: unknown = host?.providers.get(SNOWFLAKE_CONFIG)?.instance;
      return this.shown(generator.name, ids, config as SnowflakeConfig | undefined);
    });
    return this.found;
  }

  named(name: string | undefined): ShownGenerator | undefined {
    return this.all().find((generator) => generator.name === name);
  }

  private shown(
    name: string | undefined,
    ids: IdMaker,
    { application }: Pick<SnowflakeConfig, 'application'> = { application: '' },
  ): ShownGenerator {
    const token = getDistributedSupportToken(name);
    const support = this.moduleRef.get<IDistributedSupport>(token, { strict: false });
    const own = systemHolder(application).label();
    return { name, ids, support, application, workers: new WorkerList(support, systemTimers, own) };
  }
}
