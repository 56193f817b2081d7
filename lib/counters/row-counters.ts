/**
 * Counters in any store of rows with compare-and-swap: read the row, apply the rule, write what it
 * says, and begin again where somebody else was faster.
 *
 * Promise: the contract of CounterStore in full, by the rules of every counter. No lock is taken,
 * so that a process which stalls between reading and writing stops nobody; the callers of one
 * process come one behind another, so that they do not race each other.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import { pause, systemTimers, type Timers } from '../patience/timers.js';
import { checkNew, checkTake } from './check-take.js';
import type { CounterRows } from './counter-rows.js';
import type { CounterHeader, CounterReading, CounterSlice, CounterStep } from './counter-slice.js';
import type {
  CounterRecord,
  CounterStore,
  NewCounter,
  TakeAnswer,
  TakeRequest,
} from './counter-store.js';
import { counterOf, counterText } from './counter-text.js';
import { counterRecords } from './counter-view.js';
import { createCounter } from './create-counter.js';
import { giveBack } from './give-back.js';
import { namedGrant } from './grant-text.js';
import { take } from './take.js';

/** Each time somebody else got on, so that more than this is a store that refuses every write. */
const ATTEMPT_COUNT = 40;
const PAUSE_MS_MAX = 500;

type Rule<T> = (slice: CounterSlice, reading: CounterReading) => CounterStep<T>;

export interface RowCountersParts {
  readonly timers?: Timers;
  /** From 0 up to 1. */
  readonly random?: () => number;
}

export class RowCounters implements CounterStore {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly #rows: CounterRows;
  readonly #timers: Timers;
  readonly #random: () => number;
  /** By counter, the end of the last call. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(rows: CounterRows, parts: RowCountersParts = {}) {
    const { timers = systemTimers, random = Math.random } = parts;
    this.#rows = rows;
    this.#timers = timers;
    this.#random = random;
    this.place = rows.place;
    this.lossWindowMs = rows.lossWindowMs;
  }

  async take(request: TakeRequest): Promise<TakeAnswer> {
    checkTake(request);
    return this.#inTurn(request.counter, (slice, reading) => take(slice, request, reading));
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    const named = namedGrant(grant);
    if (named === undefined) return;
    const given = { ...named, unused };
    await this.#inTurn(named.counter, (slice, reading) => giveBack(slice, given, reading));
  }

  async create(counter: NewCounter): Promise<boolean> {
    checkNew(counter);
    return this.#inTurn(counter.counter, (slice, reading) =>
      createCounter(slice, counter, reading),
    );
  }

  async counters(): Promise<CounterRecord[]> {
    const { timeMs, counters } = await this.#rows.readAll();
    const named = counters.map((stored) => ({ counter: stored.counter, ...counterOf(stored) }));
    const { clock } = this.#rows;
    return counterRecords(named, { timeMs, ...(clock && { clock }) });
  }

  async advice(): Promise<string[]> {
    return (await this.#rows.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#rows.close?.();
  }

  async #inTurn<T>(counter: string, rule: Rule<T>): Promise<T> {
    const before = this.#turns.get(counter) ?? Promise.resolve();
    const own = before.then(() => this.#attempts(counter, rule));
    // What one caller hears is no matter of the next.
    const end = own.catch(() => undefined);
    this.#turns.set(counter, end);
    try {
      return await own;
    } finally {
      if (this.#turns.get(counter) === end) this.#turns.delete(counter);
    }
  }

  async #attempts<T>(counter: string, rule: Rule<T>): Promise<T> {
    for (let count = 0; count < ATTEMPT_COUNT; count++) {
      const attempt = await this.#attempt(counter, rule);
      if (attempt !== undefined) return attempt.answer;
      const spanMs = Math.min(PAUSE_MS_MAX, 2 ** count);
      await pause(this.#timers, Math.ceil(this.#random() * spanMs));
    }
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `Others changed what was read from ${this.place} again and again, and nothing was ` +
        `written. It is asked again later; a store that never takes a write looks like this too.`,
    );
  }

  /** Undefined where somebody else was faster. */
  async #attempt<T>(counter: string, rule: Rule<T>): Promise<{ answer: T } | undefined> {
    const { timeMs, server, stored } = await this.#rows.read(counter);
    const read = stored && counterOf(stored);
    const { clock } = this.#rows;
    const { lossWindowMs } = this;
    const random = randomUUID();
    const reading = { timeMs, server, random, lossWindowMs, ...(clock && { clock }) };
    const step = rule({ header: read?.header, row: read?.row }, reading);
    const { answer, header = read?.header, row = read?.row } = step;
    if (header === undefined || row === undefined) return { answer };
    if (row === read?.row && !isWorthWriting(read.header, header)) return { answer };
    const text = counterText(header, row);
    const version = stored?.version;
    const isDone = await this.#rows.write({ counter, next: row.next, text, version, server });
    return isDone ? { answer } : undefined;
  }
}

/** Who is told to wait has changed nothing but the time; one that went back must be known. */
function isWorthWriting(stored: CounterHeader, next: CounterHeader): boolean {
  return stored.era !== next.era || next.lastTimeMs < stored.lastTimeMs;
}
