/**
 * Finds the generators of the application and keeps the list of workers of each.
 *
 * Promise: every generator that SnowflakeModule registered, of whichever copy of this package, is
 * shown once. One whose IdMaker a test has overridden is left out.
 */
import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { systemIdentity } from '../patience/process-identity.js';
import { systemTimers } from '../patience/timers.js';
import { isReplaced, type RunParts } from '../nest/generator-run.js';
import type { IdMaker } from '../nest/id-maker.js';
import { SNOWFLAKE_RUN_PARTS } from '../nest/tokens.js';
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

  constructor(private readonly discovery: DiscoveryService) {}

  /** Empty where the application has none. */
  all(): readonly ShownGenerator[] {
    this.found ??= this.discovery
      .getProviders()
      .filter(({ token }) => token === SNOWFLAKE_RUN_PARTS)
      .map(({ instance }) => instance as RunParts)
      .filter((parts) => !isReplaced(parts))
      .map(shownGenerator);
    return this.found;
  }

  named(name: string | undefined): ShownGenerator | undefined {
    return this.all().find((generator) => generator.name === name);
  }
}

function shownGenerator({ name, idMaker: ids, support, config }: RunParts): ShownGenerator {
  const { application } = config;
  const own = systemIdentity(application).label();
  return { name, ids, support, application, workers: new WorkerList(support, systemTimers, own) };
}
