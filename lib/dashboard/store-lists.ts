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

/** Rows of a list, and the reason why some or all are missing. */
interface Listed<Row> {
  readonly rows: readonly Row[];
  readonly problem?: string | undefined;
}

/**
 * Shares each response of a store among all readers within a second.
 *
 * @param ask its errors follow `failed` on the page
 * @param silent the problem if the store does not respond in time
 */
function shared<Row>(
  ask: (nowMs: number) => Promise<Listed<Row>>,
  { silent, failed }: { silent: string; failed: string },
  timers: Timers = systemTimers,
) {
  let askedAtMs = -Infinity;
  let isOpen = false;
  let answer: Promise<Listed<Row>> | undefined;
  const faulty = (problem: string): Listed<Row> => ({ rows: [], problem });
  const refused = (error: unknown) =>
    faulty(`${failed} ${printable(withoutSecrets(errorText(error)))}`);
  return (nowMs: number): Promise<Listed<Row>> => {
    // A clock that was set back must not delay the next request.
    const isDue = Math.abs(nowMs - askedAtMs) >= ASKED_EVERY_MS;
    if (answer !== undefined && (isOpen || !isDue)) return answer;
    [askedAtMs, isOpen] = [nowMs, true];
    const asked = ask(nowMs)
      .catch(refused)
      .finally(() => (isOpen = false));
    answer = withinLimit(asked, { timers, ms: WAITED_MS_MAX, over: () => faulty(silent) });
    return answer;
  };
}

/** The first rows of a longer list. */
function firstOf<Record, Row>(
  records: readonly Record[],
  max: number,
  view: (record: Record) => Row,
  tooMany: string,
): Listed<Row> {
  const rows = records.slice(0, max).map(view);
  return records.length > max ? { rows, problem: tooMany } : { rows };
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
const WORKERS = {
  silent: `The store did not answer within ${WAITED_MS_MAX / 1000} s.`,
  failed: 'The list of holders could not be read.',
};
const FIXED =
  'The worker id comes from the configuration. There is no store, so it is unknown whether ' +
  'another process has the same number.';

/** @param own this process, the only holder of its worker ID if there is no store */
export function workerList(
  support: Pick<IDistributedSupport, 'workers'> | undefined,
  own: HolderView,
  timers?: Timers,
): (nowMs: number) => Promise<WorkersAnswer> {
  const listed = shared<WorkerView>(
    async (hostNowMs) => {
      const records = await support?.workers?.(WORKERS_SHOWN_MAX + 1);
      if (!Array.isArray(records)) return { rows: [], problem: NO_LIST };
      const fixed = records.filter(({ ceilingMs }) => ceilingMs === Infinity);
      if (fixed.length > 0) {
        const rows = fixed.map(
          ({ workerId }) => ({ workerId, state: 'fixed', holder: own }) as const,
        );
        return { rows, problem: FIXED };
      }
      const running = records.find(({ freeInMs }) => freeInMs > 0);
      // Ages use the store's clock, whose time follows from a ceiling in the future.
      const nowMs = running === undefined ? hostNowMs : running.ceilingMs - running.freeInMs;
      const view = (record: WorkerRecord) => workerView(record, nowMs) ?? [];
      const { rows, ...rest } = firstOf(records, WORKERS_SHOWN_MAX, view, TOO_MANY_WORKERS);
      return { rows: rows.flat(), ...rest };
    },
    WORKERS,
    timers,
  );
  return async (nowMs) => {
    const { rows: workers, ...rest } = await listed(nowMs);
    return { workers, ...rest };
  };
}

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
  readonly workers: ReturnType<typeof workerList>;
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
  const workers = workerList(support, own);
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

function lockList(locks: Pick<DistributedLock, 'status' | 'list'>): () => Promise<LocksAnswer> {
  // Other processes wrote the names, so they are made printable.
  const view = ({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): LockView => ({
    lock: formatName(lock),
    state: isKept ? 'kept' : 'held',
    isOwn: locks.status.held.some((held) => held.lock === lock && held.token === token),
    by: formatName(label),
    token: String(token),
    sinceMs,
    leftMs,
  });
  const listed = shared(
    async () => firstOf(await locks.list(), LOCKS_SHOWN_MAX, view, TOO_MANY_LOCKS),
    { silent: LOCKS_SILENT, failed: 'The locks could not be read.' },
  );
  return async () => {
    const { rows, ...rest } = await listed(monotonicClock.now());
    const { location, held, waitingCount, counts } = locks.status;
    const { acquired, refused, unavailable, lost } = counts;
    const own = { held: held.length, waiting: waitingCount, acquired, refused, unavailable, lost };
    return { location, own, locks: rows, ...rest };
  };
}

/*
 * The jobs of `@CronOnce`, from their records in the store of the locks.
 */

/** Another process takes over an unfinished run within this time. */
const LATE_MS = 10_000;
const TOO_MANY_JOBS =
  `Only ${LOCKS_SHOWN_MAX} jobs are shown. ` + 'The command `snowflake cron` lists more.';

function jobList(jobs: Pick<CronJobs, 'records'>): () => Promise<JobsAnswer> {
  const listed = shared(
    async () => firstOf(await jobs.records(), LOCKS_SHOWN_MAX, jobView, TOO_MANY_JOBS),
    { silent: LOCKS_SILENT, failed: 'The jobs could not be read.' },
  );
  return async () => {
    const { rows, ...rest } = await listed(monotonicClock.now());
    return { jobs: rows, ...rest };
  };
}

/** Other processes wrote the texts, so they are made printable. */
function jobView({ job, schedule, runs: [last], nextMs }: CronJobRecord): JobView {
  const overdueMs = systemClock.now() - (nextMs ?? Infinity);
  const isLate = overdueMs > LATE_MS && last?.outcome !== 'running';
  return {
    job: formatName(job),
    schedule: printable(schedule),
    last: last && runView(last),
    nextMs,
    lateMs: isLate ? overdueMs : undefined,
  };
}

function runView({ tickMs, startedAtMs, tookMs, outcome, by, skippedCount }: CronRunRecord) {
  return { tickMs, startedAtMs, tookMs, outcome, by: formatName(by), skippedCount };
}

/*
 * Finds the locks of the application, if it imports LockModule. It uses a symbol that every copy of
 * this package has, and only when they are requested.
 */

@Injectable()
export class DashboardLocks {
  private found: ReturnType<DashboardLocks['find']> | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Undefined if the application has none. */
  get lists() {
    return (this.found ??= this.find()).lists;
  }

  private find() {
    const provider = this.discovery.getProviders().find(({ token }) => token === LOCK_LIFECYCLE);
    const found = provider?.instance as { locks: DistributedLock; jobs: CronJobs } | undefined;
    return { lists: found && { locks: lockList(found.locks), jobs: jobList(found.jobs) } };
  }
}
