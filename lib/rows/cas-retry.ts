/**
 * Operations on rows that several processes change: each is repeated until no other process was
 * faster.
 *
 * Guarantee: no lock is taken, so a process that stalls between reading and writing stops no other;
 * the callers of one process come one after another, so that they do not race each other. One that
 * is not answered is passed after a while: nothing rests on the order.
 */
import { randomUUID } from 'node:crypto';
import { monotonicClock, type Clock } from '../core/clock.js';
import { SnowflakeError } from '../errors.js';
import { OneAtATime } from '../time/line.js';
import { pause, RetryDelay, systemTimers, type Timers } from '../time/timers.js';
import type { RowSnapshot, RowStore, StoredRow, StoreReading } from './row-store.js';
import { slewed, type ClockState } from './store-clock.js';

/** Each failed attempt means that another process succeeded. */
const ATTEMPT_COUNT = 40;
const PAUSE_MS_MAX = 500;
/** The connection of one that takes longer may be dead, while others of its pool live. */
const TURN_MS_MAX = 5000;

/** The parts that tests replace: timers and chance. */
export interface RetryParts {
  readonly timers?: Timers | undefined;
  /** Returns a number from 0 up to 1. */
  readonly random?: (() => number) | undefined;
}

/** Tests of this package replace the clock as well. */
export interface ClockedParts extends RetryParts {
  /** Tells how long ago a time was read. */
  readonly monotonic?: Clock | undefined;
}

/** The answer, once it is written; else the pause before the next attempt, if it is known. */
export type Attempted<T> = { readonly answer: T } | { readonly pauseMs?: number } | undefined;

interface Retried extends RetryParts {
  readonly location: string;
  readonly pauseMsMax: number;
}

/** Gets the record of refused writes, and the number of attempts before it. */
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

/** Runs the operations of one process on one key one after another. */
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

/**
 * The common part of counters and locks: the store they are kept in, and the way they are changed.
 */
export abstract class RowOperations {
  readonly location: string;
  readonly lossWindowMs: number;
  /** Learns when the next tick of the store's clock comes. */
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
   * @param attempt gets the rows of the keys; it changes the last one
   * @param lateMs how late it may come after what is remembered, by which it is tried first; absent
   * if it has to read
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
  const { lastTimeMs: _, slewMs: __, ...facts } = stored;
  const isNew = ([name, fact]: [string, unknown]) => next[name as keyof T] !== fact;
  return Object.entries(facts).some(isNew);
}

/**
 * True if a header must be written: it is new, a step of its time was not followed, its time has
 * gone back, or has gone on by as much as others may miss.
 */
export function isNews<T extends ClockState>(stored: T | undefined, next: T, ageMs: number) {
  if (stored === undefined || hasNewFacts(stored, next)) return true;
  const agedMs = next.lastTimeMs - stored.lastTimeMs;
  const isHeldBack = next.slewMs < 0 && next.slewMs !== stored.slewMs;
  return isHeldBack || agedMs < 0 || agedMs >= ageMs;
}

/*
 * Runs one operation at a time for each token: its caller may have given up and asked again since,
 * and a call that comes after a later one would look as if a copy of the holder had asked.
 *
 * Guarantee: a caller that asks the same again waits for the answer that is on its way, however
 * busy the store; only for so long, since some answers never come.
 */

/**
 * Longer than a fleet of a thousand takes to be served by a slow store, and shorter than a start
 * waits by default.
 */
export const SAME_ANSWER_MS_MAX = 20_000;

interface Operation {
  /** In JSON, while the same question gets the same answer. */
  question: string | undefined;
  answer?: Promise<unknown>;
}

export class SupersedingCalls {
  /** The operation that was asked for last, by token. */
  readonly #latest = new Map<string, Operation>();

  constructor(private readonly timers: Timers) {}

  /**
   * @param run learns whether it is still the one that was asked for last
   * @param question in JSON, if it may be asked again with `answerOnItsWay`
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

  /** Returns the answer under way if the same was asked, and not too long ago. */
  answerOnItsWay<T>(token: string, question: string): Promise<T> | undefined {
    const latest = this.#latest.get(token);
    return latest?.question === question ? (latest.answer as Promise<T>) : undefined;
  }
}

/*
 * Tells a store that refuses every write from one in which another process was faster: the rows
 * that a write depends on are read before each attempt, and stay the same if no other process
 * writes.
 */

/** Other processes of a fleet that starts succeed meanwhile; a call has not ended by then. */
const REFUSED_COUNT = 5;

/** The refused writes of one call. */
export class RefusedWrites {
  readonly #location: string;
  #rests = '';
  #count = 0;

  constructor(location: string) {
    this.#location = location;
  }

  /**
   * @param rests the row that was refused, and all that its write rests on, as it was read
   * @throws SnowflakeError STORE_UNAVAILABLE once it is clear
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
 * Decides when a caller that has to wait asks again.
 *
 * A clock that has whole seconds does not tell how much of one has gone by. Its answers do, taken
 * together: the first one of a second came after that second had begun.
 *
 * Guarantee: those that wait for one moment do not all come at once, and whoever came before the
 * tick of such a clock waits for a whole tick then. Nothing else rests on what is learned.
 */

/** Callers that wait for one moment come within so long. */
const SPREAD_MS = 250;

/** The clock of a store may fall behind that of the process by so much between two reads. */
const BEHIND_MS = 10;

/** The time of a store as it was read. */
interface TimeRead {
  readonly timeMs: number;
  /** How coarse it is; default 1. */
  readonly resolutionMs?: number | undefined;
}

export class AgainAfter {
  /** The time of the store is at least so far ahead of the monotonic clock. */
  #aheadMs = -Infinity;

  constructor(private readonly monotonic: Clock = monotonicClock) {}

  /** Learns from each time that is read. */
  async noted<T extends TimeRead>(reading: () => Promise<T>): Promise<T> {
    const sentMs = this.monotonic.now();
    const found = await reading();
    const { timeMs, resolutionMs = 1 } = found;
    const aheadMs = timeMs - this.monotonic.now();
    // The clock was set back, or that of another member answers.
    const isRefuted = sentMs + this.#aheadMs >= timeMs + resolutionMs;
    this.#aheadMs = isRefuted ? aheadMs : Math.max(this.#aheadMs, aheadMs);
    return found;
  }

  /** The time of the store is at least so late, unless its clock was set since the last read. */
  leastMs(readMs: number): number {
    return Math.max(readMs, Math.floor(this.monotonic.now() + this.#aheadMs) - BEHIND_MS);
  }

  /**
   * Returns at least 1, also if the tick came while the answer was on its way.
   *
   * @param waitMs at least, from the time that was read
   * @param random from 0 up to 1; 0 for the one that shall come first
   */
  ms(waitMs: number, { timeMs, resolutionMs = 1 }: TimeRead, random: number): number {
    const ticksMs = Math.ceil(waitMs / resolutionMs) * resolutionMs;
    const goneMs = resolutionMs > 1 ? this.monotonic.now() + this.#aheadMs - timeMs : 0;
    const leftMs = Math.ceil(ticksMs - goneMs);
    return Math.max(1, leftMs) + Math.floor(random * Math.min(SPREAD_MS, ticksMs));
  }
}
