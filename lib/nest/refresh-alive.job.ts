/**
 * The job that keeps the lease fresh, visible in the application's SchedulerRegistry.
 *
 * Promise: processes started together renew at different times. It never throws: a renewal that
 * fails changes the state of the lease and is tried again by the keeper.
 */
import type { SchedulerRegistry } from '@nestjs/schedule';
import { SnowflakeError } from '../errors.js';
import type { Keeper } from '../lease/keeper.js';
import type { TimerHandle } from '../patience/timers.js';
import type { SnowflakeConfig } from './options.js';

/** Part of the interval by which processes differ, to both sides. */
const SPREAD = 0.2;

export class RefreshAlive {
  /** `snowflake:refresh-alive`, with the generator's name after it where it has one. */
  readonly jobName: string;
  private interval: TimerHandle;

  constructor(
    /** Undefined in a script, where nobody looks. */
    private readonly scheduler: SchedulerRegistry | undefined,
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
    // A lease is renewed once, by the thread that holds it.
    if (!this.keeper.renewsItself) return;
    const { scheduler, jobName } = this;
    if (scheduler?.doesExist('interval', jobName)) throw nameTaken(jobName);
    this.repeat();
    scheduler?.addInterval(jobName, this.interval);
  }

  /** Goes on without the scheduler, which ends its jobs while others still make ids. */
  leaveScheduler(): void {
    if (this.interval === undefined) return;
    this.stop();
    this.repeat();
  }

  stop(): void {
    const { scheduler, jobName, interval } = this;
    this.config.timers.cancel(interval);
    this.interval = undefined;
    // Another job may have the name: then ours was refused.
    const isListed = interval !== undefined && scheduler?.doesExist('interval', jobName);
    if (isListed && scheduler!.getInterval(jobName) === interval) {
      scheduler!.deleteInterval(jobName);
    }
  }

  private repeat(): void {
    const { lease, timers } = this.config;
    const spread = 1 + SPREAD * (2 * Math.random() - 1);
    const everyMs = lease.refreshAliveIntervalMs * spread;
    this.interval = timers.every(everyMs, () => void this.run());
  }
}

function nameTaken(jobName: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The interval ${jobName} already exists in the SchedulerRegistry, so the lease could not be ` +
      `renewed and was given back. Another generator (of a second copy of this package, if it is ` +
      `not in your imports) or a job of the application has that name: give one of them another.`,
    { details: { jobName } },
  );
}
