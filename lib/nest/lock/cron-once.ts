/**
 * `@CronOnce()` and its jobs: a method that runs at each tick of a schedule in one process of the
 * fleet.
 *
 * Guarantee: the start reports every error with its class and method. These are an invalid schedule
 * or one without any tick, a duplicate job name, a wrong option, and a class without exactly one
 * object.
 */
import {
  Inject,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { OnceJob, type CronRun, type OnceJobStatus } from '../../cron/cron-once.js';
import { CRON_PREFIX, recordsIn, type NamedRecord } from '../../cron/cron-record.js';
import { scheduleOf, type Schedule } from '../../cron/schedule.js';
import type { DistributedLock } from '../../lock/distributed-lock.js';
import type { LockTerms } from '../../lock/lock-options.js';
import { lockKey, TTL_MS_MAX } from '../../lock/lock-store.js';
import { quoted } from '../../messages.js';
import {
  choice,
  later,
  readOptions,
  refused,
  suggestion,
  typed,
  whole,
  type OptionTable,
} from '../../options.js';
import { faultsOf } from '../resolve-support.js';
import { CronLog } from './cron-log.js';
import { methodsIn, type Discovery, type FoundMethod } from './found-methods.js';

/** Options of a job. */
export interface CronJobOptions {
  /** The time zone of the schedule, such as `Europe/Berlin`. Default: `cron.timeZone`, or UTC. */
  readonly timeZone?: string | undefined;
  /** The offset from UTC in minutes, instead of a time zone. */
  readonly utcOffset?: number | undefined;
  /** True if the job never runs in this process. Default false. */
  readonly disabled?: boolean | undefined;
  /**
   * A late tick runs if it is at most this late, for example after a restart of the store or a long
   * run. All such ticks run. Up to a day. Default a minute.
   */
  readonly lateMs?: number | undefined;
  /**
   * What happens to ticks that are later, for example because no process was running. `once`, the
   * default, runs the last of them; `skip` runs none.
   */
  readonly missed?: 'once' | 'skip' | undefined;
  /**
   * How often a tick starts if its process dies during the run: from 1 to 10. Then the tick is
   * abandoned. Default 3. A shutdown does not count.
   */
  readonly attempts?: number | undefined;
  /**
   * The time limit of a run. After it, the signal is aborted, the tick counts as done, and the next
   * one may begin. From 100 ms to a day. Default: ten times the time between two ticks, at least 5
   * minutes and at most a day.
   */
  readonly holdAtMostMs?: number | undefined;
}

/** Options of `@CronOnce()`. */
export interface CronOnceOptions extends CronJobOptions {
  /**
   * The name of the job and of its lock: the same in all processes and in all versions of the
   * application. Default: class and method, such as `Reports.nightly`. Set a name if a bundler
   * renames classes.
   */
  readonly name?: string | undefined;
}

/** The settings of a job in the configuration; each overrides the decorator. */
export interface CronJobSettings extends CronJobOptions {
  /** The schedule, in the format of `@Cron`. */
  readonly schedule?: string | undefined;
}

/** The jobs of `@CronOnce` in the options of LockModule. */
export interface CronModuleOptions {
  /** If false, no job runs in this process, except by `runNow`. Default true. */
  readonly enabled?: boolean | undefined;
  /** The time zone of jobs without one. Default UTC, whatever the time zone of the process. */
  readonly timeZone?: string | undefined;
  /** By job name: a schedule, settings, or false if the job never runs in this process. */
  readonly jobs?:
    Readonly<Record<string, string | CronJobSettings | false | undefined>> | undefined;
}

/** Fits a method that takes a CronRun, or nothing. */
export type CronOnceDecorator = <M extends (run: CronRun) => unknown>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

type Mark = CronOnceOptions & CronJobSettings;

/** Objects with jobs inject the CronJobs, so Nest itself reports a missing LockModule. */
const JOBS = Symbol.for('nestjs-snowflake:cron-jobs');
const CRON_ONCE = Symbol.for('nestjs-snowflake:cron-once');
const LEAST_HOLD_MS = 300_000;
/** The default name of a job is the name of its method. */
export const JOB = {
  name: [later, undefined],
  schedule: [later, undefined],
  timeZone: [later, undefined],
  utcOffset: [whole(-1440, 1440), undefined],
  disabled: [typed('boolean'), false],
  lateMs: [whole(0, TTL_MS_MAX), 60_000],
  missed: [choice('once', 'skip'), 'once'],
  attempts: [whole(1, 10), 3],
  holdAtMostMs: [whole(100, TTL_MS_MAX), undefined],
} satisfies OptionTable<Mark>;
const CRON = {
  enabled: [typed('boolean'), true],
  timeZone: [later, 'UTC'],
  jobs: [typed('object'), {}],
} satisfies OptionTable<CronModuleOptions>;
/** The name of an application may be long; this length distinguishes it from another. */
const APPLICATION_LENGTH_MAX = 64;

/**
 * Runs the method at each tick of a schedule in one process of the fleet, by a lock of LockModule.
 *
 * A tick runs once: the record of the job, stored with its lock, lists the done ticks. If a process
 * dies during a run, another process takes over within the ttl of the locks (10 s). The run starts
 * again with a higher token, up to `attempts` times in all. A direct call runs the method.
 *
 * @param schedule in the format of `@Cron`, with or without seconds; in UTC without a time zone.
 *   Optional if `cron.jobs` of LockModule has a schedule
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
export function CronOnce(schedule: string, options?: CronOnceOptions): CronOnceDecorator;
export function CronOnce(options: CronOnceOptions): CronOnceDecorator;
export function CronOnce(
  given: string | CronOnceOptions,
  options: CronOnceOptions = {},
): CronOnceDecorator {
  const mark: Mark = typeof given === 'string' ? { ...options, schedule: given } : given;
  return (target, _, { value }) => {
    const marks = marksOf(value);
    if (typeof target === 'object' && marks.length === 0) Inject(CronJobs)(target, JOBS);
    Reflect.defineMetadata(CRON_ONCE, [...marks, mark], value!);
  };
}

function marksOf(method: unknown): readonly Mark[] {
  if (typeof method !== 'function') return [];
  return (Reflect.getMetadata(CRON_ONCE, method) as readonly Mark[] | undefined) ?? [];
}

/** The record of a job, and its next due time. */
export interface CronJobRecord extends NamedRecord {
  /** Unix ms; undefined for a job that this application does not have. */
  readonly nextMs: number | undefined;
}

export interface CronJobsTerms extends LockTerms {
  readonly application: string;
  readonly cron: CronModuleOptions;
}

/** The jobs of an application; LockModule provides it. */
export class CronJobs implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #log = new CronLog();
  readonly #jobs = new Map<string, OnceJob>();
  /** True once new jobs start as soon as they are added. */
  #isOpen = false;
  #hasDefaultZone = false;

  constructor(
    private readonly locks: DistributedLock,
    private readonly terms: CronJobsTerms,
    readonly discovery: Discovery,
  ) {}

  /** The status of the jobs that run in this process, in the order of their names. */
  status(): OnceJobStatus[] {
    const all = this.#isEnabled ? [...this.#jobs.values()].map(({ status }) => status) : [];
    return all.toSorted((a, b) => (a.job < b.job ? -1 : 1));
  }

  /**
   * The records of all jobs in the lock store, including those of other applications, and the jobs
   * of this application without a record.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE
   */
  async records(): Promise<CronJobRecord[]> {
    const all = new Map<string, CronJobRecord>();
    for (const record of recordsIn(await this.locks.notes())) {
      all.set(CRON_PREFIX + record.job, { ...record, nextMs: undefined });
    }
    const { application } = this.terms;
    for (const [job, once] of this.#jobs) {
      const { schedule, settledMs } = once.status;
      const lock = lockOfJob(job);
      const record = all.get(lock) ?? { schedule, settledMs, application, runs: [] };
      const [last] = record.runs;
      const begunMs = last?.outcome === 'running' ? last.tickMs : 0;
      all.set(lock, { ...record, job, nextMs: once.next(Math.max(record.settledMs, begunMs)) });
    }
    return [...all.values()];
  }

  /**
   * Adds a job like one of `@CronOnce`; each replica must add it. It replaces a job of this name.
   *
   * @param schedule in the format of `@Cron`; each tick calls `run` in one process of the fleet
   * @throws SnowflakeError ARGUMENT_INVALID
   */
  add(
    name: string,
    schedule: string,
    run: (run: CronRun) => unknown,
    options: CronJobOptions = {},
  ): void {
    const before = this.#jobs.get(name);
    const faults = this.#add(name, { ...options, schedule }, run);
    if (faults.length > 0) throw refused(faults, '', 'ARGUMENT_INVALID');
    void before?.close();
  }

  /** Ends a job in this process; the `closing` signal tells a current run. */
  remove(name: string): void {
    void this.#jobs.get(name)?.close();
    this.#jobs.delete(name);
  }

  /**
   * Runs a job now, under its lock and independently of its ticks: no tick counts as done by it.
   *
   * @throws SnowflakeError LOCK_HELD if it runs; ARGUMENT_INVALID; and what the method throws
   */
  async runNow(name: string): Promise<void> {
    const job = this.#jobs.get(name);
    if (job !== undefined) return job.runNow();
    const known = suggestion(String(name), [...this.#jobs.keys()]);
    const fault = `This process has no job that is called ${quoted(String(name))}. ${known}`;
    throw refused([fault], '', 'ARGUMENT_INVALID');
  }

  /** @returns every fault of the decorated methods and of their settings in the configuration */
  faults(): string[] {
    const { cron } = this.terms;
    const { terms, faults } = readOptions(cron, CRON, '`cron`', 'cron.');
    const { timeZone, jobs } = terms;
    faults.push(...scheduleIn('@daily', timeZone).faults);
    const places = new Map<string, string>();
    for (const found of methodsIn(this.discovery)) faults.push(...this.#faultsOf(found, places));
    const names = [...places.keys()];
    const unknown = Object.keys(typeof jobs === 'object' ? { ...jobs } : {}).filter(
      (name) => !places.has(name),
    );
    const say = (name: string) =>
      `\`cron.jobs\` has ${quoted(name)}, and no job is called so. ${suggestion(name, names)}`;
    return [...faults, ...unknown.map(say)];
  }

  /** Now looks for ticks that were missed while no process was running. */
  onApplicationBootstrap(): void {
    this.#isOpen = this.#isEnabled;
    if (!this.#isOpen) return;
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    if (this.#hasDefaultZone && timeZone !== 'UTC') this.#log.noteZone(timeZone);
    for (const job of this.#jobs.values()) void job.begin();
  }

  beforeApplicationShutdown(): void {
    this.#isOpen = false;
    for (const job of this.#jobs.values()) void job.close();
  }

  /** Aborts the remaining runs at the end of the shutdown time. */
  endRuns(): void {
    for (const job of this.#jobs.values()) job.end();
  }

  get #isEnabled(): boolean {
    return this.terms.cron.enabled !== false;
  }

  /** Adds the jobs of a method. @param places where earlier jobs were found, by name */
  #faultsOf(found: FoundMethod, places: Map<string, string>): string[] {
    const { method, where, instance, module } = found;
    const marks = marksOf(method);
    if (found.isStatic) return marks.map(() => faultAt(where, STATIC));
    return marks.flatMap(({ name, ...decorated }) => {
      const job = name ?? where;
      const place = `${where} of ${module}`;
      const other = places.get(job);
      places.set(job, place);
      const settings = settingsOf(decorated, this.terms.cron.jobs?.[job]);
      if (settings.disabled === true) return [];
      const run = (given: CronRun): unknown => method.call(instance, given);
      const faults = [
        ...(instance === undefined ? [SCOPED] : []),
        ...(name === undefined && found.className.length < 3 ? [MINIFIED] : []),
        ...(other === undefined ? this.#add(job, settings, run) : [sameName(job, other)]),
      ];
      return faults.map((fault) => faultAt(place, fault));
    });
  }

  #add(job: string, settings: CronJobSettings, run: (run: CronRun) => unknown): string[] {
    const { clock, timers, random, label: by, application, cron } = this.terms;
    const { terms, faults } = readOptions(settings as Mark, JOB, '@CronOnce');
    const { timeZone, utcOffset, lateMs, missed, attempts, holdAtMostMs } = terms;
    const given = timeZone ?? utcOffset ?? cron.timeZone;
    const { schedule, faults: ofSchedule } = scheduleIn(terms.schedule, given ?? 'UTC');
    faults.push(
      ...(job === '' ? ['Expected `name` not to be empty.'] : typed('string')('name', job)),
      ...(timeZone === undefined || utcOffset === undefined
        ? []
        : ['Expected `timeZone` or `utcOffset`, got both.']),
      ...ofSchedule,
    );
    if (schedule === undefined || faults.length > 0) return faults;
    if (schedule.next(clock.now()) === undefined) return [`${quoted(schedule.text)} is never due.`];
    if (given === undefined) this.#hasDefaultZone = true;
    const ports = { locks: this.locks, clock, timers, random, by };
    const rules = { schedule, lateMs, missed, attempts };
    const once = new OnceJob({
      ...ports,
      ...rules,
      job,
      lock: lockOfJob(job),
      application: application.slice(0, APPLICATION_LENGTH_MAX),
      holdAtMostMs: holdAtMostMs ?? longestMs(schedule, clock.now()),
      run,
      notify: (event) => this.#log.note(event),
    });
    this.#jobs.set(job, once);
    if (this.#isOpen) void once.begin();
    return [];
  }
}

const STATIC = 'A static method has no object, and never runs. Decorate one of an object.';
const SCOPED =
  'Its class is made again for each request or user, so that no object is there at a tick. Give ' +
  'it the default scope, and what it injects as well.';
const MINIFIED =
  'Its class has a name that a minifier gave it, another one in each build. Give the job a `name`.';

function faultAt(where: string, fault: string): string {
  return `@CronOnce on ${where}: ${fault}`;
}

function sameName(job: string, other: string): string {
  return (
    `${quoted(job)} is the job of ${other} as well, and only one of them would run. Provide the ` +
    'class in one module, which exports it; or give each job a `name` of its own.'
  );
}

/** The configuration overrides, except for undefined values. */
function settingsOf(
  decorated: CronJobSettings,
  set: string | CronJobSettings | false | undefined,
): CronJobSettings {
  if (set === false) return { disabled: true };
  const own = typeof set === 'string' ? { schedule: set } : (set ?? {});
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...decorated, ...Object.fromEntries(given) };
}

function scheduleIn(
  expression: string | undefined,
  zone: string | number,
): { readonly schedule?: Schedule; readonly faults: readonly string[] } {
  if (expression === undefined) {
    return { faults: ['It has no schedule: give it one, there or in `cron.jobs`.'] };
  }
  try {
    return { schedule: scheduleOf(expression, zone), faults: [] };
  } catch (error) {
    return { faults: faultsOf(error) };
  }
}

/** The lock of a job; its note is the record. */
export function lockOfJob(job: string): string {
  return lockKey`cron:${job}`;
}

/** The time limit of a run, from the time between two ticks. */
function longestMs(schedule: Schedule, nowMs: number): number {
  const first = schedule.next(nowMs) ?? nowMs;
  const periodMs = (schedule.next(first) ?? Infinity) - first;
  return Math.min(TTL_MS_MAX, Math.max(LEAST_HOLD_MS, 10 * periodMs));
}
