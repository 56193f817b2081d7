/**
 * One job in one process of a fleet, in one file. The process sleeps until a tick, then requests
 * the job's lock. With the lock, it runs the open ticks of the record, which is the lock's note.
 *
 * Guarantee: while the store keeps its data, a tick whose run has ended never runs again. A due
 * tick runs as long as any process is available for it. If the process of a run disappears, another
 * one takes over within the lock's TTL. The job calls the store at most once in `LEAST_MS`. No
 * background failure is an unhandled rejection.
 */
import { SnowflakeError } from '../errors.js';
import type { DistributedLock } from '../lock/distributed-lock.js';
import type { AcquiredLock, LockSection } from '../lock/held-section.js';
import type { LockTerms } from '../lock/lock-options.js';
import { pause, RetryDelay, type TimerHandle } from '../time/timers.js';
import {
  decide,
  recordIn,
  recordText,
  tickAfter,
  withBegun,
  withEnded,
  type CountedOutcome,
  type CronRecord,
  type CronRunRecord,
  type CronTerms,
  type DueTick,
} from './cron-record.js';

/** The argument of a job's method for one run. */
export interface CronRun extends Pick<LockSection, 'token' | 'leftMs' | 'assertHeld'> {
  /** The time at which the run was due. It is the same in every process that ever does this run. */
  readonly tick: Date;
  /** The number of earlier ticks that were skipped because they were too late. */
  readonly skippedCount: number;
  /** The number of starts of this tick, from 1; above 1 if a process disappeared during a run. */
  readonly attempt: number;
  /** Aborted when the process begins to shut down: a run that throws afterwards is repeated. */
  readonly closing: AbortSignal;
  /** Aborted when the lock is lost, the run takes too long, or the time of the shutdown is over. */
  readonly signal: AbortSignal;
}

/** One thing that happened to a job in this process. */
export type CronEvent = { readonly job: string } & (
  | { readonly kind: 'began'; readonly tickMs: number; readonly skippedCount: number }
  | {
      readonly kind: 'ended';
      readonly tickMs: number;
      readonly tookMs: number;
      readonly outcome: CountedOutcome;
      /** The method's error, if any. */
      readonly error?: unknown;
    }
  /** Another process's run did not end, and this process has decided its outcome. */
  | { readonly kind: 'gone'; readonly run: CronRunRecord }
  /** A tick was too late, and was skipped with earlier ones. */
  | { readonly kind: 'skipped'; readonly tickMs: number; readonly skippedCount: number }
  /** The store has lost the record: of the ticks since then, only the last one runs. */
  | { readonly kind: 'forgotten'; readonly skippedCount: number }
  /** Another application has a job of this name in the same store. */
  | { readonly kind: 'shared'; readonly application: string }
  /** The record is settled more than `lateMs` beyond the current time. */
  | { readonly kind: 'ahead'; readonly settledMs: number; readonly nowMs: number }
  /** The store was unavailable or grants no lock yet; the job retries. */
  | { readonly kind: 'unavailable'; readonly error: unknown }
);

export interface OnceJobParts
  extends
    Omit<CronTerms, 'nowMs' | 'startedMs' | 'knownMs'>,
    Pick<LockTerms, 'clock' | 'timers' | 'random'> {
  readonly locks: DistributedLock;
  readonly job: string;
  /** The lock of the job. */
  readonly lock: string;
  /** The name of the process in the record. */
  readonly by: string;
  readonly run: (run: CronRun) => unknown;
  readonly notify: (event: CronEvent) => void;
}

/** The state of a job in one process. */
export interface OnceJobStatus {
  readonly job: string;
  readonly schedule: string;
  /** Every tick up to this time is settled, as far as this process has seen. */
  readonly settledMs: number;
  /** When the first open tick is due; undefined if no tick follows. */
  readonly dueMs: number | undefined;
  /** How long the first open tick has been due; 0 if it is not due yet. */
  readonly overdueMs: number;
  readonly isRunning: boolean;
  /** How long the current run in this process has taken; undefined without a run. */
  readonly runningMs: number | undefined;
  /**
   * The outcomes since the start of this process. `lost`, `given-up`, and most of `interrupted`
   * count other processes' runs that this process found abandoned.
   */
  readonly runCounts: Readonly<Record<CountedOutcome, number>>;
  /** The number of ticks that this process has skipped because they were too late. */
  readonly skippedCount: number;
  /** Another application with a job of this name in the same store; undefined without one. */
  readonly sharedWith: string | undefined;
}

const LEAST_MS = 100;
/** The maximum hold of a process that only reads the record. */
const LOOK_MS = 1000;
/** The maximum time until a clock change or a host's sleep is detected. */
const SLEEP_MS_MAX = 60_000;
/** How far a host's clock may be behind its store's clock. */
const BEHIND_MS = 1000;
/** At the limit of a run, the lock ends first and aborts the signal. */
const LIMIT_GRACE_MS = 1000;

export class OnceJob {
  readonly #parts: OnceJobParts;
  readonly #retry: RetryDelay;
  readonly #closed = new AbortController();
  readonly #startedMs: number;
  /** Undefined until this process has seen a record. */
  #settledMs: number | undefined;
  #runningSinceMs: number | undefined;
  /** The shutdown signals of the runs in progress. */
  readonly #running = new Set<{ closing: AbortController; ending: AbortController }>();
  readonly #runCounts: Record<CountedOutcome, number>;
  #skippedCount = 0;
  #sharedWith: string | undefined;
  /** The last run of this process, whose end may be missing from the record. */
  #ended: Pick<CronRunRecord, 'token' | 'outcome' | 'tookMs'> | undefined;
  /** Records that the process of the run is shutting down. */
  #writeClosing: (() => Promise<void>) | undefined;
  #writing: Promise<unknown> = Promise.resolve();
  /** Lasting conditions are reported only once. */
  readonly #told = new Set<CronEvent['kind']>();

  constructor(parts: OnceJobParts) {
    this.#parts = parts;
    this.#retry = new RetryDelay(parts.random);
    this.#startedMs = parts.clock.now();
    const counts = { done: 0, failed: 0, lost: 0, 'given-up': 0, interrupted: 0, 'too-long': 0 };
    this.#runCounts = counts;
  }

  get status(): OnceJobStatus {
    const { job, schedule, clock } = this.#parts;
    const settledMs = this.#settledMs ?? this.#startedMs;
    const dueMs = tickAfter(schedule, settledMs);
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
      sharedWith: this.#sharedWith,
    };
  }

  /** The first tick after a time, in Unix ms; undefined if there is none. */
  next(afterMs: number): number | undefined {
    return tickAfter(this.#parts.schedule, afterMs);
  }

  /** Runs due ticks until close(). Never throws. */
  async begin(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) await this.#sleep(await this.#attempt());
  }

  /**
   * Runs the job now under its lock, outside its ticks. @throws LOCK_HELD, or the method's error
   */
  async runNow(): Promise<void> {
    const { locks, lock, clock, holdAtMostMs } = this.#parts;
    const held = await locks.acquire(lock, { holdAtMostMs, waitMs: LOOK_MS });
    try {
      await this.#call(held, { tickMs: clock.now(), skippedCount: 0, attempt: 1 });
    } finally {
      await held.release();
    }
  }

  /** Starts no further run, and notifies the current run and a possible successor. */
  async close(): Promise<void> {
    const reason = shutDown(this.#parts.job);
    this.#closed.abort(reason);
    for (const { closing } of this.#running) closing.abort(reason);
    // The store may be unavailable; the run then counts as one whose process disappeared.
    await this.#writeClosing?.().catch(() => undefined);
  }

  /** Aborts the current run when the shutdown time is over. */
  end(): void {
    for (const { ending } of this.#running) ending.abort(shutDown(this.#parts.job));
  }

  async #sleep(ms: number): Promise<void> {
    const { clock, timers } = this.#parts;
    const { signal } = this.#closed;
    const untilMs = clock.now() + ms;
    for (let leftMs = Math.max(LEAST_MS, ms); leftMs > 0; leftMs = untilMs - clock.now()) {
      if (signal.aborted) return;
      // An aborted pause is no error.
      await pause(timers, Math.ceil(Math.min(SLEEP_MS_MAX, leftMs)), signal).catch(() => undefined);
    }
  }

  /** Returns the delay before the next attempt. */
  async #attempt(): Promise<number> {
    const { locks, lock, holdAtMostMs } = this.#parts;
    let held: AcquiredLock | undefined;
    try {
      held = await locks.acquire(lock, { holdAtMostMs });
      this.#retry.reset();
      this.#told.delete('unavailable');
      return await this.#doNext(held);
    } catch (error) {
      // The lock was refused or lost, or the store became unavailable, before a run began.
      return this.#refusedMs(error as SnowflakeError);
    } finally {
      await held?.release();
    }
  }

  #refusedMs(error: SnowflakeError): number {
    const { job, random, clock } = this.#parts;
    const { code, details, retryable } = error;
    const tickMs = this.#untilTick(clock.now());
    // Its holder may have disappeared: the lock becomes free at its end, and the record then
    // decides.
    if (code === 'LOCK_HELD') return Math.min(tickMs, Number(details['leftMs']) + random() * 50);
    if (code === 'LOCK_LOST' || this.#closed.signal.aborted) return this.#retry.next();
    this.#tellOnce(true, { kind: 'unavailable', job, error });
    if (retryable !== true) return tickMs;
    const { waitMs } = details;
    return typeof waitMs === 'number' ? waitMs + 1 : this.#retry.next();
  }

  /** Runs the next due tick. @returns the delay before the next attempt */
  async #doNext(held: AcquiredLock): Promise<number> {
    const { application, job, by, notify, clock, lateMs } = this.#parts;
    const hostMs = clock.now();
    const { grantedAtMs: storeMs = hostMs } = held;
    // The earlier clock counts, so that one wrong clock runs no job too early.
    const nowMs = Math.min(storeMs, hostMs + BEHIND_MS);
    const stored = recordIn(held.note);
    // The end of this process's own run may be missing, if it lost the lock before writing it.
    const known = stored && this.#ended ? withEnded(stored, this.#ended) : stored;
    const times = { nowMs, startedMs: this.#startedMs, knownMs: this.#settledMs };
    const { record, due, untilMs } = decide(known, { ...this.#parts, ...times });
    if (stored === undefined && this.#settledMs !== undefined) {
      notify({ kind: 'forgotten', job, skippedCount: due?.skippedCount ?? 0 });
    }
    const { settledMs } = record;
    this.#tellOnce(settledMs - nowMs > lateMs, { kind: 'ahead', job, settledMs, nowMs });
    this.#noteRecord(record, known?.runs[0], nowMs);
    if (due === undefined) {
      if (record !== stored) await this.#write(held, record);
      return (untilMs ?? Infinity) - nowMs;
    }
    const { tickMs, skippedCount, isTooLate } = due;
    const run = { tickMs, skippedCount, startedAtMs: nowMs, by, token: held.token };
    const begun = withBegun({ ...record, application }, run);
    if (!isTooLate) {
      await this.#run(held, { ...due, record: begun });
      return this.#untilTick(tickMs);
    }
    const end = { token: held.token, outcome: 'skipped', tookMs: 0 } as const;
    await this.#write(held, withEnded(begun, end));
    this.#settledMs = tickMs;
    this.#skippedCount += skippedCount + 1;
    notify({ kind: 'skipped', job, tickMs, skippedCount });
    return this.#untilTick(tickMs);
  }

  /** How long it is until the first tick after a time. */
  #untilTick(afterMs: number): number {
    return (this.next(afterMs) ?? Infinity) - this.#parts.clock.now();
  }

  #tellOnce(isSo: boolean, event: CronEvent): void {
    const isTold = this.#told.has(event.kind);
    if (isSo) this.#told.add(event.kind);
    else this.#told.delete(event.kind);
    if (isSo && !isTold) this.#parts.notify(event);
  }

  /** @param last the last run before its outcome was decided */
  #noteRecord(record: CronRecord, last: CronRunRecord | undefined, nowMs: number): void {
    const { job, notify, application } = this.#parts;
    const { settledMs, runs } = record;
    this.#settledMs = Math.max(this.#settledMs ?? 0, Math.min(settledMs, nowMs));
    const other = record.application;
    const isShared = other !== '' && other !== application;
    if (isShared && other !== this.#sharedWith) notify({ kind: 'shared', job, application: other });
    if (isShared) this.#sharedWith = other;
    if (last?.outcome !== 'running') return;
    const run = runs[0]!;
    this.#runCounts[run.outcome as CountedOutcome]++;
    notify({ kind: 'gone', job, run });
  }

  async #run(held: AcquiredLock, begun: DueTick & { readonly record: CronRecord }): Promise<void> {
    const { clock, job, notify } = this.#parts;
    const { tickMs, skippedCount, record } = begun;
    await this.#write(held, record);
    // A suspended process must detect before the start that the run is no longer its own.
    held.assertHeld();
    const startedMs = clock.now();
    this.#skippedCount += skippedCount;
    notify({ kind: 'began', job, tickMs, skippedCount });
    this.#runningSinceMs = startedMs;
    const [first, ...rest] = record.runs;
    const closing = { ...record, runs: [{ ...first!, isClosing: true }, ...rest] };
    this.#writeClosing = () => this.#write(held, closing);
    const { outcome, error } = await this.#outcomeOf(held, begun);
    this.#writeClosing = undefined;
    this.#runningSinceMs = undefined;
    this.#runCounts[outcome]++;
    const tookMs = Math.max(0, clock.now() - startedMs);
    notify({ kind: 'ended', job, tickMs, tookMs, outcome, error });
    this.#ended = { token: held.token, outcome, tookMs };
    const ended = withEnded(record, this.#ended);
    this.#settledMs = Math.max(this.#settledMs ?? 0, ended.settledMs);
    await this.#writeEnd(held, ended);
  }

  /** Writes in order, so that no older state overwrites an end. */
  #write(held: AcquiredLock, record: CronRecord): Promise<void> {
    const written = this.#writing.then(() => held.writeNote(recordText(record)));
    // Its caller has the error.
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Without the lock, no write is possible, and the next holder repeats the run anyway. */
  async #writeEnd(held: AcquiredLock, record: CronRecord): Promise<void> {
    while (held.leftMs > 0) {
      const isWritten = await this.#write(held, record).then(
        () => true,
        // The store may recover before the lock ends.
        () => false,
      );
      if (isWritten) return;
      await pause(this.#parts.timers, this.#retry.next() + 1);
    }
  }

  /** Waits for the end of a run, but no longer than the run's limit. */
  async #outcomeOf(
    held: AcquiredLock,
    due: DueTick,
  ): Promise<{ readonly outcome: CountedOutcome; readonly error?: unknown }> {
    const { signal } = this.#closed;
    // The shutdown began during the write of the record.
    if (signal.aborted) return { outcome: 'interrupted' };
    const ended = this.#call(held, due).then(
      () => ({ outcome: 'done' }) as const,
      (error: unknown) => ({ outcome: signal.aborted ? 'interrupted' : 'failed', error }) as const,
    );
    const { timers, holdAtMostMs } = this.#parts;
    let limit: TimerHandle;
    // Continues even after a lost lock: otherwise, a hanging run would be this process's last.
    const tooLong = new Promise<{ readonly outcome: 'too-long' }>((resolve) => {
      limit = timers.every(holdAtMostMs + LIMIT_GRACE_MS, () => resolve({ outcome: 'too-long' }));
    });
    return Promise.race([ended, tooLong]).finally(() => timers.cancel(limit));
  }

  async #call(held: AcquiredLock, { tickMs, skippedCount, attempt }: DueTick): Promise<void> {
    const running = { closing: new AbortController(), ending: new AbortController() };
    const { ending } = running;
    held.signal.addEventListener('abort', () => ending.abort(held.signal.reason));
    this.#running.add(running);
    try {
      await this.#parts.run({
        tick: new Date(tickMs),
        skippedCount,
        attempt,
        token: held.token,
        closing: running.closing.signal,
        signal: ending.signal,
        get leftMs() {
          return held.leftMs;
        },
        assertHeld: () => held.assertHeld(),
      });
    } finally {
      this.#running.delete(running);
    }
  }
}

function shutDown(job: string): SnowflakeError {
  const message = `The run of ${job} is to end, because this process is shutting down.`;
  return new SnowflakeError('NOT_READY', message, { retryable: false, details: { job } });
}
