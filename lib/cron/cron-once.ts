/**
 * One job of a process of a fleet, all that it does in one file: at each tick it asks for the lock
 * of the job, and the process that gets it does what the record in the lock's note says is open.
 *
 * Guarantee: while the store keeps its data, a tick whose run has ended is never run again, and a
 * tick that is due is run as long as a process is there to do it; a run whose process is gone is
 * taken over within the ttl of the lock. No failure in the background is an unhandled rejection.
 */
import type { Clock } from '../core/clock.js';
import { isSnowflakeError } from '../errors.js';
import { pause, RetryDelay, type TimerHandle, type Timers } from '../time/timers.js';
import {
  dueTick,
  newRecord,
  recordIn,
  recordText,
  settledAfterLoss,
  withBegun,
  withEnded,
  withoutHolder,
  withSkipped,
  type CronOutcome,
  type CronRecord,
  type CronRunRecord,
  type DueTick,
  type MissedTicks,
  type Schedule,
} from './cron-record.js';
import type { DistributedLock } from '../lock/distributed-lock.js';
import type { AcquiredLock } from '../lock/held-section.js';

/** What the method of a job is given for one run. */
export interface CronRun extends Omit<AcquiredLock, 'release'> {
  /** The time at which the run was due. It is the same in every process that ever does this run. */
  readonly tick: Date;
  /** How many ticks before it were left out because they were too late. */
  readonly skippedCount: number;
}

/** One thing that happened to a job in this process. */
export type CronEvent = { readonly job: string } & (
  | { readonly kind: 'began'; readonly tickMs: number; readonly skippedCount: number }
  | {
      readonly kind: 'ended';
      readonly tickMs: number;
      readonly tookMs: number;
      readonly outcome: CronOutcome;
      /** What the method threw, if it failed. */
      readonly error?: unknown;
    }
  /** A run that its process did not end is done again. */
  | { readonly kind: 'taken-over'; readonly tickMs: number; readonly from: string }
  /** A tick was too late, and left out with those before it. */
  | { readonly kind: 'skipped'; readonly tickMs: number; readonly skippedCount: number }
  /** The store has lost the record: of the ticks since then only the last one is done. */
  | { readonly kind: 'forgotten'; readonly skippedCount: number }
  /** The record is ahead of the store's clock by more than a tick may be late. */
  | { readonly kind: 'ahead'; readonly aheadMs: number }
  /** The store was away or grants nothing yet; it is asked again. */
  | { readonly kind: 'unavailable'; readonly error: unknown }
);

export interface OnceJobParts {
  readonly locks: DistributedLock;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: () => number;
  readonly job: string;
  /** The lock of the job. */
  readonly lock: string;
  /** The process, for the record. */
  readonly by: string;
  readonly schedule: Schedule;
  readonly lateMs: number;
  readonly missed: MissedTicks;
  readonly holdAtMostMs: number;
  readonly run: (run: CronRun) => unknown;
  readonly notify: (event: CronEvent) => void;
}

/** What a process knows of a job. */
export interface OnceJobStatus {
  readonly job: string;
  readonly schedule: string;
  /** Every tick up to this is settled, as far as this process knows. */
  readonly settledMs: number;
  /** When the first tick that is not settled is due; undefined if there is no further one. */
  readonly dueMs: number | undefined;
  /** For how long it has been due; 0 if it is not yet. */
  readonly overdueMs: number;
  readonly isRunning: boolean;
  /** For how long a run has been going on in this process; undefined without one. */
  readonly runningMs: number | undefined;
  /** The runs of this process since its start; `lost` are those of others that it did again. */
  readonly runCounts: Readonly<Record<CountedOutcome, number>>;
  /** How many ticks this process has left out, because they were too late. */
  readonly skippedCount: number;
}

type CountedOutcome = Exclude<CronOutcome, 'running' | 'skipped'>;

interface NextTick {
  readonly record: CronRecord;
  readonly due: DueTick;
  readonly nowMs: number;
}

/** A wait for a store that is away is no longer than this, so that no tick becomes too late. */
const AGAIN_MS_MAX = 5000;
/** At the limit of a run the lock comes first, and aborts the signal. */
const LIMIT_GRACE_MS = 1000;

export class OnceJob {
  readonly #parts: OnceJobParts;
  readonly #retry: RetryDelay;
  readonly #closed = new AbortController();
  readonly #startedMs: number;
  /** It is undefined until this process has seen a record. */
  #settledMs: number | undefined;
  #runningSinceMs: number | undefined;
  readonly #runCounts = { done: 0, failed: 0, 'too-long': 0, lost: 0 };
  #skippedCount = 0;
  /** The last run of this process, whose end may not have been written. */
  #ended: Pick<CronRunRecord, 'token' | 'outcome' | 'tookMs'> | undefined;
  /** A tick came while the loop was about to end. */
  #isAskedAgain = false;
  #loop: Promise<void> | undefined;
  /** Ends the pause before the next attempt. */
  #wake: AbortController | undefined;

  constructor(parts: OnceJobParts) {
    this.#parts = parts;
    this.#retry = new RetryDelay(parts.random);
    this.#startedMs = parts.clock.now();
  }

  get status(): OnceJobStatus {
    const { job, schedule, clock } = this.#parts;
    const settledMs = this.#settledMs ?? this.#startedMs;
    const dueMs = nextOf(schedule, settledMs);
    const sinceMs = this.#runningSinceMs;
    return {
      job,
      schedule: schedule.text,
      settledMs,
      dueMs,
      overdueMs: Math.max(0, clock.now() - (dueMs ?? Infinity)),
      isRunning: sinceMs !== undefined,
      runningMs: sinceMs === undefined ? undefined : Math.max(0, clock.now() - sinceMs),
      runCounts: { ...this.#runCounts },
      skippedCount: this.#skippedCount,
    };
  }

  /** The first tick after a time, in Unix ms; undefined if there is none. */
  next(afterMs: number): number | undefined {
    return nextOf(this.#parts.schedule, afterMs);
  }

  /**
   * Does what is due, or sees that another process has done it. Resolves when nothing is left to be
   * done, or at once where an earlier call is at it: a job that is never in time would keep every
   * tick in memory. Never throws.
   */
  async look(): Promise<void> {
    this.#isAskedAgain = true;
    this.#wake?.abort();
    if (this.#loop !== undefined) return;
    this.#loop = this.#untilNothingIsDue().finally(() => (this.#loop = undefined));
    await this.#loop;
  }

  /** Begins no further run. One that runs goes on: the locks wait for it. */
  close(): void {
    this.#closed.abort();
    this.#wake?.abort();
  }

  async #untilNothingIsDue(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      this.#isAskedAgain = false;
      const againMs = await this.#attempt();
      if (againMs === undefined && !this.#isAskedAgain) return;
      if (againMs !== undefined && againMs > 0) await this.#pause(againMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    this.#wake = new AbortController();
    const { signal } = this.#wake;
    if (this.#closed.signal.aborted || this.#isAskedAgain) return;
    // A pause that was ended has done its work.
    await pause(this.#parts.timers, Math.ceil(ms), signal).catch(() => undefined);
    this.#wake = undefined;
  }

  /** Returns after how long to ask again; undefined if nothing is left to be done. */
  async #attempt(): Promise<number | undefined> {
    const { locks, lock, holdAtMostMs } = this.#parts;
    let held: AcquiredLock;
    try {
      held = await locks.acquire(lock, { holdAtMostMs });
    } catch (error) {
      return this.#refusedMs(error);
    }
    try {
      this.#retry.reset();
      return await this.#doNext(held);
    } catch (error) {
      // The lock was lost, or the store went away, before anything was run.
      return this.#refusedMs(error);
    } finally {
      await held.release();
    }
  }

  #refusedMs(error: unknown): number | undefined {
    const { job, notify, random } = this.#parts;
    // A schedule without a further tick throws an error of its own.
    if (!isSnowflakeError(error)) {
      notify({ kind: 'unavailable', job, error });
      return undefined;
    }
    const { code, details, retryable } = error;
    // Its holder may be gone: the lock is free when its time is over, and the record says more.
    if (code === 'LOCK_HELD') return Number(details['leftMs']) + 1 + random() * 50;
    if (this.#closed.signal.aborted) return undefined;
    if (code === 'LOCK_LOST') return this.#retry.next();
    notify({ kind: 'unavailable', job, error });
    if (!retryable) return undefined;
    const { waitMs } = details;
    return typeof waitMs === 'number' ? waitMs + 1 : Math.min(AGAIN_MS_MAX, this.#retry.next());
  }

  /**
   * Does the next tick that is due. @returns after how long to ask again; undefined if none is due
   */
  async #doNext(held: AcquiredLock): Promise<number | undefined> {
    const { clock, schedule, holdAtMostMs: limitMs, lateMs, missed } = this.#parts;
    // The clock of a process only wakes it: that of the store says what is due.
    const nowMs = held.grantedAtMs ?? clock.now();
    const stored = recordIn(held.note);
    const lost = stored === undefined ? this.#afterLoss(nowMs) : undefined;
    const found = stored ?? newRecord(schedule.text, lost?.settledMs ?? nowMs);
    // The end of a run of ours could not be written if the lock was lost meanwhile.
    const known = this.#ended === undefined ? found : withEnded(found, this.#ended);
    const record = { ...withoutHolder(known, { nowMs, limitMs }), schedule: schedule.text };
    this.#noteRecord(record, { nowMs, isTakenOver: known.runs[0]?.outcome === 'running' });
    const settledMs = Math.max(record.settledMs, this.#settledMs ?? 0);
    const due = dueTick(schedule, { settledMs, nowMs, lateMs, missed });
    if (due === undefined) {
      if (stored === undefined) await held.writeNote(recordText({ ...record, settledMs }));
      return this.#untilMs(schedule.next(Math.max(settledMs, nowMs)), nowMs);
    }
    const skippedCount = due.skippedCount + (lost?.skippedCount ?? 0);
    const next = { record: { ...record, settledMs }, due: { ...due, skippedCount }, nowMs };
    await (due.isTooLate ? this.#skip(held, next) : this.#run(held, next));
    return 0;
  }

  /** A clock that is ahead of the store's has woken this process too early, and not again. */
  #untilMs(tickMs: number, nowMs: number): number | undefined {
    return tickMs <= this.#parts.clock.now() ? tickMs - nowMs + 1 : undefined;
  }

  /** Undefined where this process has seen no record before: a new job begins now. */
  #afterLoss(nowMs: number): ReturnType<typeof settledAfterLoss> | undefined {
    const { schedule, job, notify } = this.#parts;
    if (this.#settledMs === undefined) return undefined;
    const after = settledAfterLoss(schedule, { sinceMs: this.#settledMs, nowMs });
    notify({ kind: 'forgotten', job, skippedCount: after.skippedCount });
    return after;
  }

  #noteRecord(
    { settledMs, runs: [last] }: CronRecord,
    { nowMs, isTakenOver }: { readonly nowMs: number; readonly isTakenOver: boolean },
  ): void {
    const { job, notify, lateMs } = this.#parts;
    this.#settledMs = Math.max(this.#settledMs ?? 0, Math.min(settledMs, nowMs));
    const aheadMs = settledMs - nowMs;
    if (aheadMs > lateMs) notify({ kind: 'ahead', job, aheadMs });
    if (isTakenOver && last?.outcome === 'lost') {
      this.#runCounts.lost++;
      notify({ kind: 'taken-over', job, tickMs: last.tickMs, from: last.by });
    }
  }

  /** The record says so, as of a run. */
  async #skip(
    held: AcquiredLock,
    { record, due: { tickMs, skippedCount }, nowMs }: NextTick,
  ): Promise<void> {
    const { job, by, notify } = this.#parts;
    const run = { tickMs, skippedCount, startedAtMs: nowMs, by, token: held.token };
    await held.writeNote(recordText(withSkipped(record, run)));
    this.#settledMs = tickMs;
    this.#skippedCount += skippedCount + 1;
    notify({ kind: 'skipped', job, tickMs, skippedCount });
  }

  async #run(held: AcquiredLock, { record, due, nowMs }: NextTick): Promise<void> {
    const { clock, job, by, notify } = this.#parts;
    const { tickMs, skippedCount } = due;
    const startedAtMs = clock.now();
    const run = { tickMs, skippedCount, startedAtMs: nowMs, by, token: held.token };
    const begun = withBegun(record, run);
    await held.writeNote(recordText(begun));
    // A process that stood still since is told before it begins what is another one's by now.
    held.assertHeld();
    this.#skippedCount += skippedCount;
    notify({ kind: 'began', job, tickMs, skippedCount });
    this.#runningSinceMs = startedAtMs;
    const { outcome, error } = await this.#outcomeOf(held, due);
    this.#runningSinceMs = undefined;
    this.#runCounts[outcome]++;
    const tookMs = Math.max(0, clock.now() - startedAtMs);
    notify({ kind: 'ended', job, tickMs, tookMs, outcome, error });
    this.#settledMs = Math.max(this.#settledMs ?? 0, tickMs);
    this.#ended = { token: held.token, outcome, tookMs };
    await this.#writeEnd(held, recordText(withEnded(begun, this.#ended)));
  }

  /** Without the lock nothing can be written, and the next holder does the run again. */
  async #writeEnd(held: AcquiredLock, text: string): Promise<void> {
    while (held.leftMs > 0) {
      const isWritten = await held.writeNote(text).then(
        () => true,
        // The store may be back before the time of the lock is over.
        () => false,
      );
      if (isWritten) return;
      await pause(this.#parts.timers, this.#retry.next() + 1);
    }
  }

  /** Waits for the end of a run, but for no longer than it may take. */
  async #outcomeOf(
    held: AcquiredLock,
    { tickMs, skippedCount }: DueTick,
  ): Promise<{ readonly outcome: 'done' | 'failed' | 'too-long'; readonly error?: unknown }> {
    const run: CronRun = Object.assign(held, { tick: new Date(tickMs), skippedCount });
    const ended = (async () => this.#parts.run(run))().then(
      () => ({ outcome: 'done' }) as const,
      (error: unknown) => ({ outcome: 'failed', error }) as const,
    );
    const { timers, holdAtMostMs } = this.#parts;
    let limit: TimerHandle;
    // Also where the lock was lost before: a run that hangs would else be the last one here.
    const tooLong = new Promise<{ readonly outcome: 'too-long' }>((resolve) => {
      limit = timers.every(holdAtMostMs + LIMIT_GRACE_MS, () => resolve({ outcome: 'too-long' }));
    });
    return Promise.race([ended, tooLong]).finally(() => timers.cancel(limit));
  }
}

/** A schedule without a further tick throws an error of its own. */
function nextOf(schedule: Schedule, afterMs: number): number | undefined {
  try {
    return schedule.next(afterMs);
  } catch {
    return undefined;
  }
}
