/**
 * The job that keeps the lease fresh, visible in the application's SchedulerRegistry.
 *
 * Promise: processes started together renew at different times. It never throws: a renewal that
 * fails changes the state of the lease and is tried again by the keeper.
 */
import type { SchedulerRegistry } from '@nestjs/schedule';
import type { Keeper } from '../lease/keeper.js';
import type { SnowflakeConfig } from './options.js';

/** Part of the interval by which processes differ, to both sides. */
const SPREAD = 0.2;

export class RefreshAlive {
  /** `snowflake:refresh-alive`, with the generator's name behind it where it has one. */
  readonly jobName: string;

  constructor(
    private readonly scheduler: SchedulerRegistry,
    private readonly keeper: Keeper,
    private readonly config: Pick<SnowflakeConfig, 'lease' | 'timers'>,
    name?: string,
  ) {
    this.jobName = ['snowflake:refresh-alive', name].filter(Boolean).join(':');
  }

  /** Renews the lease now; resolves when it is renewed or the attempt has failed. */
  run(): Promise<void> {
    return this.keeper.refresh();
  }

  start(): void {
    const { lease, timers } = this.config;
    const spread = 1 + SPREAD * (2 * Math.random() - 1);
    const interval = timers.every(lease.refreshAliveIntervalMs * spread, () => void this.run());
    this.scheduler.addInterval(this.jobName, interval);
  }

  stop(): void {
    if (this.scheduler.doesExist('interval', this.jobName)) {
      this.config.timers.cancel(this.scheduler.getInterval(this.jobName));
      this.scheduler.deleteInterval(this.jobName);
    }
  }
}
