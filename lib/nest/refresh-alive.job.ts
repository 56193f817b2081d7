/**
 * The job that renews the lease, listed in the application's SchedulerRegistry.
 *
 * Guarantee: processes that start together renew at different times. The job never throws: if a
 * renewal fails, the keeper changes the state of the lease and tries again.
 */
import type { SchedulerRegistry } from '@nestjs/schedule';
import { SnowflakeError } from '../errors.js';
import type { Keeper } from '../lease/keeper.js';
import type { TimerHandle } from '../time/timers.js';
import type { SnowflakeConfig } from './resolve-options.js';

/** Up to this share of the interval is added or subtracted at random. */
const SPREAD = 0.2;

/**
 * The job that renews the lease every `refreshAliveIntervalMs`, as listed in the application's
 * SchedulerRegistry. Inject it by getRefreshAliveToken() to find its name.
 */
export class RefreshAlive {
  /** `snowflake:refresh-alive`, or `snowflake:refresh-alive:orders` for the generator `orders`. */
  readonly jobName: string;
  private interval: TimerHandle;

  constructor(
    /** Undefined in a script. */
    private readonly scheduler: SchedulerRegistry | undefined,
    private readonly keeper: Pick<Keeper, 'renewsItself' | 'endMs' | 'refresh'>,
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
    if (!this.isNeeded) return;
    const { scheduler, jobName } = this;
    if (scheduler?.doesExist('interval', jobName)) throw nameTaken(jobName);
    this.repeat();
    scheduler?.addInterval(jobName, this.interval);
  }

  /**
   * Continues without the scheduler, which ends its jobs while the application still generates IDs.
   */
  leaveScheduler(): void {
    if (this.interval === undefined) return;
    this.stop();
    this.repeat();
  }

  stop(): void {
    const { scheduler, jobName, interval } = this;
    this.config.timers.cancel(interval);
    this.interval = undefined;
    // If another job has the name, ours was rejected, and the other one must stay.
    const isListed = interval !== undefined && scheduler?.doesExist('interval', jobName);
    if (isListed && scheduler!.getInterval(jobName) === interval) {
      scheduler!.deleteInterval(jobName);
    }
  }

  private repeat(): void {
    const { lease, timers } = this.config;
    const spread = 1 + SPREAD * (2 * Math.random() - 1);
    const everyMs = lease.refreshAliveIntervalMs * spread;
    // With `lazy`, the first run may be the first to find a lease without end.
    this.interval = timers.every(everyMs, () => (this.isNeeded ? void this.run() : this.stop()));
  }

  /** The thread that holds a shared lease renews it; a lease without end needs no renewal. */
  private get isNeeded(): boolean {
    const { renewsItself, endMs } = this.keeper;
    return renewsItself && endMs !== Infinity;
  }
}

function nameTaken(jobName: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The interval ${jobName} already exists in the SchedulerRegistry, so the lease could not ` +
      'be renewed and was given back. The name belongs to another generator (of a second copy of ' +
      'this package, if it is not in your imports) or to a job of the application. Rename one.',
    { details: { jobName } },
  );
}
