/**
 * `@CronOnce()`, in one file with the jobs that it makes: a method that runs at each tick of a
 * schedule in one process of the fleet. The schedule is Nest's own: `@Cron` of @nestjs/schedule
 * calls the method in each process, and the lock of the job decides which of them does the work.
 *
 * Guarantee: what cannot work is told at the start, all at once: a name that two jobs have, an
 * option that cannot be meant so, a missing ScheduleModule.
 */
import {
  Inject,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { OnceJob, type CronEvent, type CronRun, type OnceJobStatus } from '../../cron/cron-once.js';
import { CRON_PREFIX, recordsIn, type NamedRecord, type Schedule } from '../../cron/cron-record.js';
import type { DistributedLock } from '../../lock/distributed-lock.js';
import type { LockTerms } from '../../lock/lock-options.js';
import { lockKey, TTL_MS_MAX } from '../../lock/lock-store.js';
import { errorText, printable } from '../../messages.js';
import { choiceFaults, typeFaults, unknownNames, wholeFaults } from '../../options.js';
import { pause, RetryDelay } from '../../time/timers.js';
import { alike, type Method } from './locked.decorator.js';

/** Options of `@CronOnce()`; the first four are those of `@Cron`. */
export interface CronOnceOptions {
  /**
   * The name of the job, and of its lock: one in all processes, and in all versions of the
   * application. Default: class and method, as `Reports.nightly`; give one where a bundler renames
   * classes.
   */
  readonly name?: string | undefined;
  /** The time zone of the schedule, as `Europe/Berlin`. Default: that of the process. */
  readonly timeZone?: string | undefined;
  /** The offset from UTC in minutes, instead of a time zone. */
  readonly utcOffset?: number | undefined;
  /** True if the job never runs in this process. Default false. */
  readonly disabled?: boolean | undefined;
  /**
   * A tick is done, however many there are, if it is no later than this: after a restart of the
   * store, or a long run before it. Up to a day. Default a minute.
   */
  readonly lateMs?: number | undefined;
  /**
   * What becomes of ticks that are later, as when no process was there: the last of them is done
   * `once`, the default, or all are left out (`skip`).
   */
  readonly missed?: 'once' | 'skip' | undefined;
  /**
   * A run that takes longer is given up: its signal is aborted, its tick counts as done, and the
   * next one may begin. From 100 ms to a day. Default: ten times the time between two ticks, at
   * least an hour and at most a day.
   */
  readonly holdAtMostMs?: number | undefined;
}

/** It fits a method that takes what a run is given, or nothing. */
export type CronOnceDecorator = <M extends (run: CronRun) => unknown>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

interface CronOnceMark {
  readonly job: string;
  readonly method: Method;
  readonly options: CronOnceOptions;
}

/** Nest puts the jobs here, into each object that has one. */
const JOBS = Symbol.for('nestjs-snowflake:cron-jobs');
const CRON_ONCE = Symbol.for('nestjs-snowflake:cron-once');
const OPTION_NAMES = 'name, timeZone, utcOffset, disabled, lateMs, missed, holdAtMostMs';
const HOUR_MS = 3_600_000;
const LATE_MS = 60_000;
/** Whether a tick is too late is decided here, and not by the timer that came late. */
const THRESHOLD_MS = 2 ** 31 - 1;

/**
 * Runs the method at each tick of a schedule in one process of the fleet, by a lock of LockModule.
 * The application imports `ScheduleModule.forRoot()` as well.
 *
 * A tick is done once: the record of the job, kept beside its lock, says which ones are done. A
 * process that dies in a run is taken over within the ttl of the locks (10 s): the run is done
 * again with a higher token. A call of the method with an argument, as in a test, simply runs it.
 *
 * @param cronTime the schedule, as `@Cron` takes it, with seconds or without
 * @throws SnowflakeError CONFIG_INVALID at the start of the application
 * @example
 * ```ts
 * import { CronOnce, type CronRun } from 'nestjs-snowflake/lock';
 *
 * const sent: string[] = [];
 * export class Reports {@CronOnce('0 3 * * *') async nightly({ tick, token }: CronRun) {
 *   sent.push(`the report of ${tick.toISOString()}, by ${token}`);
 * }}
 * ```
 */
export function CronOnce(cronTime: string, options: CronOnceOptions = {}): CronOnceDecorator {
  return (target, name, descriptor) => {
    Inject(CronJobs)(target, JOBS);
    const given = descriptor as unknown as TypedPropertyDescriptor<Method>;
    const method = given.value!;
    const job = options.name ?? `${target.constructor.name}.${String(name)}`;
    const once: Method = async function (...args) {
      const jobs = (this as { [JOBS]?: CronJobs } | undefined)?.[JOBS];
      // The scheduler calls with undefined.
      if (args[0] !== undefined || jobs === undefined) return method.apply(this, args);
      return jobs.look(job);
    };
    given.value = alike(once, method);
    const { timeZone, utcOffset, disabled = false } = options;
    const zone = timeZone === undefined ? { utcOffset } : { timeZone };
    const scheduled = { name: job, disabled, threshold: THRESHOLD_MS, ...zone };
    Cron(cronTime, scheduled as object)(target, name, given);
    const mark: CronOnceMark = { job, method, options };
    Reflect.defineMetadata(CRON_ONCE, mark, once);
  };
}

/** What is wrong with the options of one method, for all to be told at once. */
function optionFaults({ job, options }: CronOnceMark, where: string): string[] {
  const { name = job, missed = 'once', lateMs = LATE_MS, holdAtMostMs = HOUR_MS } = options;
  const faults = [
    ...unknownNames(options, OPTION_NAMES, '@CronOnce'),
    ...(name === '' ? ['Expected `name` not to be empty.'] : typeFaults('name', name, 'string')),
    ...(options.timeZone === undefined || options.utcOffset === undefined
      ? []
      : ['Expected `timeZone` or `utcOffset`, got both.']),
    ...choiceFaults('missed', missed, ['once', 'skip']),
    ...wholeFaults('lateMs', lateMs, [0, TTL_MS_MAX]),
    ...wholeFaults('holdAtMostMs', holdAtMostMs, [100, TTL_MS_MAX]),
  ];
  return faults.map((fault) => `@CronOnce on ${where}: ${fault}`);
}

/** The record of a job, and when it is due next. */
export interface CronJobRecord extends NamedRecord {
  /** In Unix ms; undefined for a job that this application does not have. */
  readonly nextMs: number | undefined;
}

function withNext(record: NamedRecord, job: OnceJob | undefined): CronJobRecord {
  const { runs, settledMs, schedule } = record;
  const [last] = runs;
  const begunMs = last?.outcome === 'running' ? last.tickMs : 0;
  const name = job?.status.job ?? record.job;
  const nextMs = job?.next(Math.max(settledMs, begunMs));
  return { job: name, schedule, settledMs, runs, nextMs };
}

/** The parts of Nest that find the decorated methods. */
export interface CronEnvironment {
  readonly discovery: DiscoveryService;
  readonly scanner: MetadataScanner;
  readonly injector: ModuleRef;
}

/** The jobs of an application; LockModule provides it. */
export class CronJobs implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #logger = new Logger('CronOnce');
  readonly #jobs = new Map<string, OnceJob>();
  readonly #marks = new Map<string, { readonly mark: CronOnceMark; readonly instance: object }>();
  readonly #closed = new AbortController();
  /** Jobs whose store is away, so that the log has one line for each outage. */
  readonly #waiting = new Set<string>();

  constructor(
    private readonly locks: DistributedLock,
    private readonly terms: LockTerms,
    private readonly environment: CronEnvironment,
  ) {}

  /** What this process knows of its jobs, in the order of their names. */
  status(): OnceJobStatus[] {
    const all = [...this.#jobs.values()].map(({ status }) => status);
    return all.toSorted((a, b) => (a.job < b.job ? -1 : 1));
  }

  /**
   * The records of all jobs in the store of the locks, those of other applications as well, and
   * the jobs of this one that have none yet.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE
   */
  async records(): Promise<CronJobRecord[]> {
    const own = new Map([...this.#jobs].map(([name, job]) => [lockOfJob(name), job]));
    const stored = recordsIn(await this.locks.notes()).map((record) => {
      const lock = CRON_PREFIX + record.job;
      const job = own.get(lock);
      own.delete(lock);
      return withNext(record, job);
    });
    const begun = [...own.values()].map((job) => withNext({ ...job.status, runs: [] }, job));
    return [...stored, ...begun];
  }

  /** Is called at each tick. */
  async look(job: string): Promise<void> {
    await this.#jobOf(job)?.look();
  }

  /** @returns every fault of the decorated methods */
  faults(): string[] {
    const { discovery, scanner } = this.environment;
    const faults: string[] = [];
    for (const { instance } of [...discovery.getProviders(), ...discovery.getControllers()]) {
      if (typeof instance !== 'object' || instance === null) continue;
      const object = instance as Record<string, unknown>;
      const prototype = Object.getPrototypeOf(object) as Record<string, unknown> | null;
      if (prototype === null) continue;
      for (const name of scanner.getAllMethodNames(prototype)) {
        const mark = markOf(prototype[name]);
        if (mark !== undefined) faults.push(...this.#add(mark, object, name));
      }
    }
    const isMissing = this.#marks.size > 0 && this.#registry() === undefined;
    return isMissing ? [...faults, WITHOUT_SCHEDULER] : faults;
  }

  /** Ticks that were missed while no process was there are looked for now. */
  onApplicationBootstrap(): void {
    const enabled = [...this.#marks].filter(([, { mark }]) => mark.options.disabled !== true);
    const names = enabled.map(([name]) => name);
    this.#begin(names).catch((error: unknown) => this.#logger.error(error));
  }

  beforeApplicationShutdown(): void {
    this.#closed.abort();
    for (const job of this.#jobs.values()) job.close();
  }

  #add(mark: CronOnceMark, instance: object, method: string): string[] {
    const where = `${instance.constructor.name}.${method}`;
    const other = this.#marks.get(mark.job);
    if (other?.mark === mark && other.instance === instance) return [];
    this.#marks.set(mark.job, { mark, instance });
    const faults = optionFaults(mark, where);
    if (other === undefined) return faults;
    return [
      ...faults,
      `@CronOnce on ${where}: another job of this application is called ${mark.job} as well, so ` +
        'that only one of them would run. Give each a `name` of its own.',
    ];
  }

  /** The jobs of Nest are made by a hook that may come after ours. */
  async #begin(names: readonly string[]): Promise<void> {
    const { timers, random } = this.terms;
    const { signal } = this.#closed;
    const retry = new RetryDelay(random);
    for (let left = names; left.length > 0 && !signal.aborted;) {
      for (const name of left) void this.#jobOf(name)?.look();
      left = left.filter((name) => !this.#jobs.has(name));
      // A shutdown ends the pause.
      if (left.length > 0) await pause(timers, retry.next() + 1, signal).catch(() => undefined);
    }
  }

  #jobOf(name: string): OnceJob | undefined {
    const known = this.#jobs.get(name);
    const marked = this.#marks.get(name);
    if (known !== undefined || marked === undefined || this.#closed.signal.aborted) return known;
    const schedule = this.#scheduleOf(name);
    if (schedule === undefined) return undefined;
    const { mark, instance } = marked;
    const { clock, timers, random, label: by } = this.terms;
    const { lateMs = LATE_MS, missed = 'once' } = mark.options;
    const job = new OnceJob({
      locks: this.locks,
      clock,
      timers,
      random,
      job: name,
      lock: lockOfJob(name),
      by,
      schedule,
      lateMs,
      missed,
      holdAtMostMs: mark.options.holdAtMostMs ?? longestMs(schedule, clock.now()),
      run: (run) => mark.method.call(instance, run),
      notify: (event) => this.#note(event),
    });
    this.#jobs.set(name, job);
    return job;
  }

  #scheduleOf(name: string): Schedule | undefined {
    const registry = this.#registry();
    if (registry?.doesExist('cron', name) !== true) return undefined;
    const { cronTime } = registry.getCronJob(name);
    const { source, timeZone, utcOffset } = cronTime;
    const zone = timeZone ?? zoneOf(utcOffset ?? 0);
    return {
      text: `${String(source)} ${zone}`,
      next: (afterMs) => cronTime.getNextDateFrom(new Date(afterMs), zone).toMillis(),
    };
  }

  #registry(): SchedulerRegistry | undefined {
    try {
      return this.environment.injector.get(SchedulerRegistry, { strict: false });
    } catch {
      return undefined;
    }
  }

  #note(event: CronEvent): void {
    const { job, kind } = event;
    const isWaiting = this.#waiting.has(job);
    if (kind !== 'unavailable') this.#waiting.delete(job);
    if (kind === 'ended') return this.#noteEnd(event);
    if (kind === 'taken-over') {
      const at = new Date(event.tickMs).toISOString();
      this.#logger.warn(
        `The run of ${job} for ${at} did not end: ${printable(event.from)} is gone, or lost its ` +
          'lock. It is done again, with a higher token.',
      );
    } else if (kind === 'skipped') {
      const at = new Date(event.tickMs).toISOString();
      this.#logger.warn(
        `${job} was too late for ${at}, and does not run for it: \`missed\` is 'skip'. ` +
          `${event.skippedCount} ticks before are left out as well.`,
      );
    } else if (kind === 'forgotten') {
      this.#logger.warn(
        `The store has lost the record of ${job}. Its last tick may be done again, and ` +
          `${event.skippedCount} ticks before are left out, unless another process did them.`,
      );
    } else if (kind === 'ahead') {
      this.#logger.warn(
        `The record of ${job} is ${event.aheadMs} ms ahead of the clock of its store, which is ` +
          'wrong now or was when the job last ran. The job does not run until then.',
      );
    } else if (kind === 'unavailable' && !isWaiting) {
      this.#waiting.add(job);
      this.#logger.warn(`${job} is due and waits for its lock. ${errorText(event.error)}`);
    } else if (kind === 'began' && event.skippedCount > 0) {
      this.#logger.warn(`${job} was late: ${event.skippedCount} ticks before were left out.`);
    }
  }

  #noteEnd({ job, outcome, tookMs, error }: CronEvent & { readonly kind: 'ended' }): void {
    if (outcome === 'failed') this.#logger.error(error);
    if (outcome !== 'too-long') return;
    this.#logger.error(
      `${job} ran for ${tookMs} ms, as long as \`holdAtMostMs\` allows, and is given up. Its ` +
        'signal is aborted; whatever goes on has to look at it.',
    );
  }
}

const WITHOUT_SCHEDULER =
  'Methods with @CronOnce would never run: import ScheduleModule.forRoot() of @nestjs/schedule.';

/** The lock of a job, whose note is its record. */
export function lockOfJob(job: string): string {
  return lockKey`cron:${job}`;
}

function markOf(method: unknown): CronOnceMark | undefined {
  if (typeof method !== 'function') return undefined;
  return Reflect.getMetadata(CRON_ONCE, method) as CronOnceMark | undefined;
}

function zoneOf(utcOffset: number): string {
  const minutes = Math.abs(utcOffset % 60);
  const hours = Math.trunc(Math.abs(utcOffset) / 60);
  return `UTC${utcOffset < 0 ? '-' : '+'}${hours}:${String(minutes).padStart(2, '0')}`;
}

/** The longest that a run may take, by the time between two ticks. */
function longestMs(schedule: Schedule, nowMs: number): number {
  const first = schedule.next(nowMs);
  const periodMs = schedule.next(first) - first;
  return Math.min(TTL_MS_MAX, Math.max(HOUR_MS, 10 * periodMs));
}
