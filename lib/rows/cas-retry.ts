/**
 * Operations on rows that several processes change. Each operation repeats until no other process
 * was faster.
 *
 * Guarantee: no operation takes a lock, so a process that stalls between reading and writing blocks
 * no other. The callers of one process run one by one, so they do not race each other. The queue
 * skips an unanswered call after a while, since correctness does not depend on the order.
 */
import { randomUUID } from 'node:crypto';
import { monotonicClock, type Clock } from '../core/clock.js';
import { SnowflakeError } from '../errors.js';
import { OneAtATime } from '../time/line.js';
import { pause, RetryDelay, systemTimers, type Timers } from '../time/timers.js';
import type { RowSnapshot, RowStore, StoredRow, StoreReading } from './row-store.js';
import { slewed, type ClockState } from './store-clock.js';

/** The limit is high, because each failed attempt means that another process succeeded. */
const ATTEMPT_COUNT = 40;
const PAUSE_MS_MAX = 500;
/** The connection of a longer call may be dead, while others in its pool still work. */
const TURN_MS_MAX = 5000;

/** The parts that tests replace: timers and randomness. */
export interface RetryParts {
  readonly timers?: Timers | undefined;
  /** Returns a number from 0 up to 1. */
  readonly random?: (() => number) | undefined;
}

/** Tests of this package also replace the clock. */
export interface ClockedParts extends RetryParts {
  /** Measures how long ago a time was read. */
  readonly monotonic?: Clock | undefined;
}

/** The result, once it is written; otherwise the pause before the next attempt, if known. */
export type Attempted<T> = { readonly answer: T } | { readonly pauseMs?: number } | undefined;

interface Retried extends RetryParts {
  readonly location: string;
  readonly pauseMsMax: number;
}

/** Receives the record of refused writes, and the number of previous attempts. */
type Attempt<T> = (refused: RefusedWrites, count: number) => Promise<Attempted<T>>;

export async function retried<T>(
  { location, timers = systemTimers, random = Math.random, pauseMsMax }: Retried,
  attempt: Attempt<T>,
): Promise<T> {
  const delay = new RetryDelay(random, 1, pauseMsMax);
  const refused = new RefusedWrites(location);
  for (let count = 1; ; count++) {
    const attempted = await attempt(refused, count - 1);
    if (attempted !== undefined && 'answer' in attempted) return attempted.answer;
    if (count === ATTEMPT_COUNT) throw overtaken(location);
    const waitMs = delay.next(attempted?.pauseMs);
    if (waitMs > 0) await pause(timers, waitMs);
  }
}

export function overtaken(location: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `Other processes kept changing what was read from ${location}, so nothing was written. It ` +
      `will be asked again.`,
  );
}

/** Runs one process's operations on a key one by one. */
export class CasRetry {
  readonly #parts: Retried;
  readonly #turns: OneAtATime<string>;

  constructor(location: string, { timers = systemTimers, random }: RetryParts = {}) {
    this.#parts = { location, timers, random, pauseMsMax: PAUSE_MS_MAX };
    this.#turns = new OneAtATime({ ms: TURN_MS_MAX, timers });
  }

  run<T>(key: string, attempt: Attempt<T>): Promise<T> {
    return this.#turns.run(key, () => retried(this.#parts, attempt));
  }
}

/** The common part of counters and locks: their store, and the way to change them. */
export abstract class RowOperations {
  readonly location: string;
  readonly lossWindowMs: number;
  /** Estimates the next tick of the store's clock. */
  protected readonly again = new AgainAfter();
  readonly #rows: RowStore;
  readonly #retry: CasRetry;

  constructor(rows: RowStore, parts?: RetryParts) {
    this.#rows = rows;
    this.#retry = new CasRetry(rows.location, parts);
    this.location = rows.location;
    this.lossWindowMs = rows.lossWindowMs;
  }

  async advice(): Promise<string[]> {
    return (await this.#rows.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#rows.close?.();
  }

  protected get rows(): RowStore {
    return this.#rows;
  }

  protected get clock() {
    const { clock = slewed } = this.#rows;
    return { clock };
  }

  /**
   * @param attempt receives the rows of the keys, and changes the last one
   * @param lateMs the maximum age of remembered rows, which the first attempt uses; absent if it
   * has to read
   */
  protected inTurn<T>(
    keys: readonly [...string[], string],
    attempt: RowAttempt<T>,
    lateMs?: number,
  ): Promise<T> {
    const { lossWindowMs } = this;
    const attempted = (snapshot: RowSnapshot, refused: RefusedWrites, late?: number) => {
      const { rows, ...moment } = snapshot;
      const facts = { random: randomUUID(), lossWindowMs, ...this.clock };
      return attempt({ rows, reading: { ...moment, ...facts, lateMs: late }, refused });
    };
    return this.#retry.run(keys.at(-1)!, async (refused, count) => {
      const isFirst = count === 0 && lateMs !== undefined;
      const known = isFirst ? this.#rows.remembered?.(keys) : undefined;
      const remembered = known && { ...known, timeMs: this.again.leastMs(known.timeMs) };
      const done = remembered && (await attempted(remembered, refused, lateMs));
      const read = () => this.again.noted(() => this.#rows.read({ keys }));
      return done ?? attempted(await read(), refused);
    });
  }
}

export type RowAttempt<T> = (read: {
  readonly rows: readonly StoredRow[];
  readonly reading: StoreReading;
  readonly refused: RefusedWrites;
}) => Promise<Attempted<T>>;

/** True if a header differs from the stored one in more than its time. */
export function hasNewFacts<T extends ClockState>(stored: T, next: T): boolean {
  const isTime = (name: string) => name === 'lastTimeMs' || name === 'slewMs';
  const names = Object.keys(stored) as (keyof T & string)[];
  return names.some((name) => next[name] !== stored[name] && !isTime(name));
}

/**
 * True if a header must be written: it is new, or it did not follow a step of its time. Also if its
 * time has moved back, or forward by more than other processes may miss.
 */
export function isNews<T extends ClockState>(stored: T | undefined, next: T, ageMs: number) {
  if (stored === undefined || hasNewFacts(stored, next)) return true;
  const agedMs = next.lastTimeMs - stored.lastTimeMs;
  const isHeldBack = next.slewMs < 0 && next.slewMs !== stored.slewMs;
  return isHeldBack || agedMs < 0 || agedMs >= ageMs;
}

/*
 * Runs one operation at a time for each token. A caller may time out and retry, and a call that
 * arrives after a later one would look like a copy of the holder.
 *
 * Guarantee: a caller that repeats a request waits for the pending response, however busy the store
 * is. This wait has a limit, since some responses never arrive.
 */

/**
 * Longer than a slow store needs to serve a fleet of a thousand, and shorter than the default wait
 * of a start.
 */
export const SAME_ANSWER_MS_MAX = 20_000;

interface Operation {
  /** The request as JSON, while a repeated request gets the same response. */
  question: string | undefined;
  answer?: Promise<unknown>;
}

export class SupersedingCalls {
  /** The last requested operation, by token. */
  readonly #latest = new Map<string, Operation>();

  constructor(private readonly timers: Timers) {}

  /**
   * @param run receives a check whether it is still the last requested operation
   * @param question as JSON, if `answerOnItsWay` may repeat it
   */
  async of<T>(
    token: string,
    run: (isLatest: () => boolean) => Promise<T>,
    question?: string,
  ): Promise<T> {
    const own: Operation = { question };
    const isLatest = () => this.#latest.get(token) === own;
    const forget = () => (own.question = undefined);
    const timer = question && this.timers.after(SAME_ANSWER_MS_MAX, forget);
    this.#latest.set(token, own);
    try {
      const answer = run(isLatest);
      own.answer = answer;
      return await answer;
    } finally {
      this.timers.cancel(timer);
      if (isLatest()) this.#latest.delete(token);
    }
  }

  /** Returns the pending response to the same question, if that is not too old. */
  answerOnItsWay<T>(token: string, question: string): Promise<T> | undefined {
    const latest = this.#latest.get(token);
    return latest?.question === question ? (latest.answer as Promise<T>) : undefined;
  }
}

/*
 * Distinguishes a store that refuses every write from one in which another process was faster. The
 * rows that a write depends on are read before each attempt, and stay equal if no other process
 * writes.
 */

/** By then, other processes of a starting fleet have succeeded, and no call has timed out. */
const REFUSED_COUNT = 5;

/** Records the refused writes of one call. */
export class RefusedWrites {
  readonly #location: string;
  #rests = '';
  #count = 0;

  constructor(location: string) {
    this.#location = location;
  }

  /**
   * @param rests the refused row and everything that its write depends on, as read
   * @throws SnowflakeError STORE_UNAVAILABLE once the store evidently refuses every write
   */
  note(...rests: readonly unknown[]): void {
    const name = JSON.stringify(rests);
    this.#count = name === this.#rests ? this.#count + 1 : 1;
    this.#rests = name;
    if (this.#count === REFUSED_COUNT) throw refusing(this.#location);
  }
}

function refusing(location: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store carried out none of ${REFUSED_COUNT} writes to ${location}, although nobody had ` +
      `changed what they rest on. See whether a trigger or row-level security keeps rows from ` +
      `being written, or a proxy sends reads and writes to different servers.`,
  );
}

/*
 * Decides when a waiting caller retries.
 *
 * A clock of whole seconds does not show fractions. Its readings together do: the first reading of
 * a second came after that second began.
 *
 * Guarantee: callers that wait for the same moment do not all retry at once. A caller that arrives
 * before the tick of such a clock waits for the whole next tick. Nothing else depends on this
 * estimate.
 */

/** Callers that wait for the same moment retry within this time. */
const SPREAD_MS = 250;

/** How far a store's clock may fall behind the process's clock between two reads. */
const BEHIND_MS = 10;

/** A reading of a store's time. */
interface TimeRead {
  readonly timeMs: number;
  /** The resolution; default 1. */
  readonly resolutionMs?: number | undefined;
}

export class AgainAfter {
  /** The minimum lead of the store's time over the monotonic clock. */
  #aheadMs = -Infinity;

  constructor(private readonly monotonic: Clock = monotonicClock) {}

  /** Updates the estimate with each reading. */
  async noted<T extends TimeRead>(reading: () => Promise<T>): Promise<T> {
    const sentMs = this.monotonic.now();
    const found = await reading();
    const { timeMs, resolutionMs = 1 } = found;
    const aheadMs = timeMs - this.monotonic.now();
    // The clock was set back, or another member responded.
    const isRefuted = sentMs + this.#aheadMs >= timeMs + resolutionMs;
    this.#aheadMs = isRefuted ? aheadMs : Math.max(this.#aheadMs, aheadMs);
    return found;
  }

  /** The earliest possible time of the store, unless its clock was set since the last read. */
  leastMs(readMs: number): number {
    return Math.max(readMs, Math.floor(this.monotonic.now() + this.#aheadMs) - BEHIND_MS);
  }

  /**
   * Returns at least 1, even if the tick came before the response arrived.
   *
   * @param waitMs the minimum wait, from the time in the reading
   * @param random from 0 up to 1; 0 for the caller that should be first
   */
  ms(waitMs: number, { timeMs, resolutionMs = 1 }: TimeRead, random: number): number {
    const ticksMs = Math.ceil(waitMs / resolutionMs) * resolutionMs;
    const goneMs = resolutionMs > 1 ? this.monotonic.now() + this.#aheadMs - timeMs : 0;
    const leftMs = Math.ceil(ticksMs - goneMs);
    return Math.max(1, leftMs) + Math.floor(random * Math.min(SPREAD_MS, ticksMs));
  }
}
