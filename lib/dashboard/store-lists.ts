/**
 * The lists that only stores have: the holders of worker IDs, the holders of locks, and the runs of
 * jobs.
 *
 * Guarantee: at most one request per second and one at a time, however many pages are open. If the
 * store fails or does not respond, the reply reports this after at most 3 s.
 */
import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { monotonicClock, systemClock } from '../core/clock.js';
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import type { DistributedLock } from '../lock/distributed-lock.js';
import type { LockRecord } from '../lock/lock-store.js';
import { errorText, printable, formatName, withoutSecrets } from '../messages.js';
import { isReplaced, type RunParts } from '../nest/generator-run.js';
import type { IdMaker } from '../nest/id-maker.js';
import type { CronJobRecord, CronJobs, CronRunRecord } from '../nest/lock/index.js';
import { SNOWFLAKE_RUN_PARTS, LOCK_LIFECYCLE } from '../nest/tokens.js';
import { systemTimers, withinLimit, type Timers } from '../time/timers.js';
import {
  WORKERS_SHOWN_MAX,
  type HolderView,
  type JobsAnswer,
  type JobView,
  type LocksAnswer,
  type LockView,
  type WorkersAnswer,
  type WorkerView,
} from './answers.js';

const ASKED_EVERY_MS = 1000;
const WAITED_MS_MAX = 3000;

/**
 * Shares each response of a store among all readers within a second.
 *
 * @param silent the reply if the store does not respond in time
 */
function shared<T>(ask: (nowMs: number) => Promise<T>, silent: T, timers: Timers) {
  let askedAtMs = -Infinity;
  let isOpen = false;
  let answer: Promise<T> | undefined;
  return (nowMs: number): Promise<T> => {
    // A clock that was set back must not delay the next request.
    const isDue = Math.abs(nowMs - askedAtMs) >= ASKED_EVERY_MS;
    if (answer !== undefined && (isOpen || !isDue)) return answer;
    [askedAtMs, isOpen] = [nowMs, true];
    const asked = ask(nowMs).finally(() => (isOpen = false));
    answer = withinLimit(asked, { timers, ms: WAITED_MS_MAX, over: () => silent });
    return answer;
  };
}

/*
 * The worker IDs, as the support lists them.
 */

/**
 * How long a crashed process is shown; the registry keeps its holder until another process leases
 * the ID.
 */
const ENDED_SHOWN_MS = 3_600_000;

const TOO_MANY_WORKERS =
  `Only ${WORKERS_SHOWN_MAX.toLocaleString('en-US')} of the worker ids in the registry are ` +
  'shown. The command `snowflake workers` lists all of them.';
const NO_LIST = 'This support cannot list who holds which worker id.';
const SUPPORT_SILENT = `The store did not answer within ${WAITED_MS_MAX / 1000} s.`;
const FIXED =
  'The worker id comes from the configuration. There is no store, so it is unknown whether ' +
  'another process has the same number.';

export class WorkerList {
  readonly read: (nowMs: number) => Promise<WorkersAnswer>;

  /** @param own this process, the only holder of its worker ID if there is no store */
  constructor(
    private readonly support: Pick<IDistributedSupport, 'workers'> | undefined,
    timers: Timers,
    private readonly own: HolderView,
  ) {
    this.read = shared((nowMs) => this.ask(nowMs), faulty(SUPPORT_SILENT), timers);
  }

  private async ask(nowMs: number): Promise<WorkersAnswer> {
    try {
      const records = await this.support?.workers?.(WORKERS_SHOWN_MAX + 1);
      return Array.isArray(records) ? this.answerOf(records, nowMs) : faulty(NO_LIST);
    } catch (error) {
      return faulty(
        `The list of holders could not be read. ${printable(withoutSecrets(errorText(error)))}`,
      );
    }
  }

  private answerOf(records: readonly WorkerRecord[], hostNowMs: number): WorkersAnswer {
    const fixed = records.filter(({ ceilingMs }) => ceilingMs === Infinity);
    if (fixed.length > 0) return { workers: fixed.map(this.fixedView), problem: FIXED };
    const running = records.find(({ freeInMs }) => freeInMs > 0);
    // Ages use the store's clock, whose time follows from a ceiling in the future.
    const nowMs = running === undefined ? hostNowMs : running.ceilingMs - running.freeInMs;
    const workers = records
      .slice(0, WORKERS_SHOWN_MAX)
      .flatMap((record) => workerView(record, nowMs) ?? []);
    return records.length > WORKERS_SHOWN_MAX
      ? { workers, problem: TOO_MANY_WORKERS }
      : { workers };
  }

  private readonly fixedView = ({ workerId }: WorkerRecord): WorkerView => ({
    workerId,
    state: 'fixed',
    holder: this.own,
  });
}

const faulty = (problem: string): WorkersAnswer => ({ workers: [], problem });

/** Undefined for a free worker ID that was used before. */
function workerView(record: WorkerRecord, nowMs: number): WorkerView | undefined {
  const { workerId, ceilingMs, freeInMs } = record;
  const remainingMs = ceilingMs - nowMs;
  if (record.holder === undefined) {
    return freeInMs > 0 ? { workerId, state: 'resting', remainingMs } : undefined;
  }
  if (remainingMs < -ENDED_SHOWN_MS) return undefined;
  const holder = holderView(record.holder, nowMs);
  return { workerId, state: freeInMs > 0 ? 'held' : 'ended', holder, remainingMs };
}

/** Other processes wrote the names, so they are made printable. */
function holderView(
  { host, pid, application, version, sinceMs }: NonNullable<WorkerRecord['holder']>,
  nowMs: number,
): HolderView {
  const names = {
    host: formatName(host),
    pid,
    application: formatName(application),
    ...(version !== undefined && { version: formatName(version) }),
  };
  return sinceMs === 0 ? names : { ...names, heldForMs: nowMs - sinceMs };
}

/*
 * Finds the generators of the application, and keeps the list of workers of each.
 *
 * Guarantee: every generator that a module registered, through any copy of this package, is listed
 * once. A generator whose IdMaker a test overrides is omitted.
 */

export interface DashboardGenerator {
  readonly name: string | undefined;
  readonly ids: IdMaker;
  readonly location: string;
  readonly application: string;
  readonly leaseTtlMs?: number | undefined;
  readonly workers: WorkerList;
}

@Injectable()
export class DashboardGenerators {
  private found: readonly DashboardGenerator[] | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Empty if the application has none. */
  all(): readonly DashboardGenerator[] {
    this.found ??= this.discovery
      .getProviders()
      .filter(({ token }) => token === SNOWFLAKE_RUN_PARTS)
      .map(({ instance }) => instance as RunParts)
      .filter((parts) => !isReplaced(parts))
      .map(listedGenerator);
    return this.found;
  }

  named(name: string | undefined): DashboardGenerator | undefined {
    return this.all().find((generator) => generator.name === name);
  }
}

function listedGenerator({ name, idMaker: ids, support, engine }: RunParts): DashboardGenerator {
  const { location, identity, leaseTtlMs } = engine;
  const own = identity.label();
  const workers = new WorkerList(support, systemTimers, own);
  return { name, ids, location, application: own.application, leaseTtlMs, workers };
}

/*
 * The locks from their store, with this process's own data about its locks.
 */

/** More locks on the page would not help anyone. */
const LOCKS_SHOWN_MAX = 500;
const LOCKS_SILENT = `The store of the locks did not answer within ${WAITED_MS_MAX / 1000} s.`;
const TOO_MANY_LOCKS =
  `Only ${LOCKS_SHOWN_MAX} locks are shown. ` + 'The command `snowflake locks` lists more.';

type Listed = Pick<LocksAnswer, 'locks' | 'problem'>;

class LockList {
  private readonly listed: (nowMs: number) => Promise<Listed>;

  constructor(
    private readonly locks: Pick<DistributedLock, 'status' | 'list'>,
    timers: Timers,
  ) {
    this.listed = shared(() => this.ask(), { locks: [], problem: LOCKS_SILENT }, timers);
  }

  async read(): Promise<LocksAnswer> {
    const listed = await this.listed(monotonicClock.now());
    const { location, held, waitingCount, counts } = this.locks.status;
    const { acquired, refused, unavailable, lost } = counts;
    const own = { held: held.length, waiting: waitingCount, acquired, refused, unavailable, lost };
    return { location, own, ...listed };
  }

  private async ask(): Promise<Listed> {
    try {
      const records = await this.locks.list();
      const locks = records.slice(0, LOCKS_SHOWN_MAX).map((record) => this.view(record));
      return records.length > LOCKS_SHOWN_MAX ? { locks, problem: TOO_MANY_LOCKS } : { locks };
    } catch (error) {
      const problem = `The locks could not be read. ${printable(withoutSecrets(errorText(error)))}`;
      return { locks: [], problem };
    }
  }

  /** Other processes wrote the names, so they are made printable. */
  private view({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): LockView {
    const own = this.locks.status.held.some((held) => held.lock === lock && held.token === token);
    return {
      lock: formatName(lock),
      state: isKept ? 'kept' : 'held',
      isOwn: own,
      by: formatName(label),
      token: String(token),
      sinceMs,
      leftMs,
    };
  }
}

/*
 * The jobs of `@CronOnce`, from their records in the store of the locks.
 */

/** Another process takes over an unfinished run within this time. */
const LATE_MS = 10_000;
const TOO_MANY_JOBS =
  `Only ${LOCKS_SHOWN_MAX} jobs are shown. ` + 'The command `snowflake cron` lists more.';

class JobList {
  private readonly listed: (nowMs: number) => Promise<JobsAnswer>;

  constructor(
    private readonly jobs: Pick<CronJobs, 'records'>,
    timers: Timers,
  ) {
    this.listed = shared(() => this.ask(), { jobs: [], problem: LOCKS_SILENT }, timers);
  }

  read(): Promise<JobsAnswer> {
    return this.listed(monotonicClock.now());
  }

  private async ask(): Promise<JobsAnswer> {
    try {
      const records = await this.jobs.records();
      const jobs = records.slice(0, LOCKS_SHOWN_MAX).map(jobView);
      return records.length > LOCKS_SHOWN_MAX ? { jobs, problem: TOO_MANY_JOBS } : { jobs };
    } catch (error) {
      const problem = `The jobs could not be read. ${printable(withoutSecrets(errorText(error)))}`;
      return { jobs: [], problem };
    }
  }
}

/** Other processes wrote the texts, so they are made printable. */
function jobView({ job, schedule, runs: [last], nextMs }: CronJobRecord): JobView {
  const overdueMs = systemClock.now() - (nextMs ?? Infinity);
  const isLate = overdueMs > LATE_MS && last?.outcome !== 'running';
  return {
    job: formatName(job),
    schedule: printable(schedule),
    last: last && { ...runView(last), by: formatName(last.by) },
    nextMs,
    lateMs: isLate ? overdueMs : undefined,
  };
}

function runView({ tickMs, startedAtMs, tookMs, outcome, by, skippedCount }: CronRunRecord) {
  return { tickMs, startedAtMs, tookMs, outcome, by, skippedCount };
}

/*
 * Finds the locks of the application, if it imports LockModule. It uses a symbol that every copy of
 * this package has, and only when they are requested.
 */

@Injectable()
export class DashboardLocks {
  private found: { readonly list?: LockList; readonly jobs?: JobList } | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Undefined if the application has none. */
  get list(): LockList | undefined {
    return (this.found ??= this.find()).list;
  }

  get jobs(): JobList | undefined {
    return (this.found ??= this.find()).jobs;
  }

  private find(): { readonly list?: LockList; readonly jobs?: JobList } {
    const provider = this.discovery.getProviders().find(({ token }) => token === LOCK_LIFECYCLE);
    const found = provider?.instance as { locks: DistributedLock; jobs: CronJobs } | undefined;
    if (found === undefined) return {};
    const list = new LockList(found.locks, systemTimers);
    return { list, jobs: new JobList(found.jobs, systemTimers) };
  }
}
