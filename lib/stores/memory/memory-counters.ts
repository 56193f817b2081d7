/**
 * Counters in this process: for tests, and for numbers that only this process needs.
 *
 * Guarantee: the contract of CounterStore in full, by the reference rules. It is empty at each
 * start, so earlier numbers must be known from elsewhere.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import {
  checkNew,
  checkTake,
  createCounter,
  giveBack,
  take,
} from '../../counters/counter-rules.js';
import {
  counterRecords,
  namedGrant,
  type CounterHeader,
  type CounterReading,
  type CounterRow,
  type CounterSnapshot,
  type CounterStep,
  type CounterRecord,
  type CounterStore,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
  type NamedGrant,
} from '../../counters/counter-store.js';
import { methodFaults, refuse, unknownNames } from '../../options.js';

/** Options of MemoryCounters. */
export interface MemoryCountersOptions {
  /** Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/**
 * Counters in memory. To share them, give the same object.
 *
 * @example
 * ```ts
 * import { MemoryCounters } from 'nestjs-snowflake';
 *
 * const store = new MemoryCounters();
 * await store.create({ counter: 'order', start: 1n });
 * await store.take({ kind: 'dense', counter: 'order', count: 100n, have: 0n, lossGap: 1000n });
 * ```
 */
export class MemoryCounters implements CounterStore {
  readonly location = 'the memory of this process';
  readonly lossWindowMs = 0;
  private readonly map = new CounterMap();
  private readonly clock: Clock;

  constructor(options: MemoryCountersOptions = {}) {
    const { clock = systemClock } = options;
    refuse([
      ...unknownNames(options, 'clock', 'MemoryCounters'),
      ...methodFaults('clock', clock, ['now']),
    ]);
    this.clock = clock;
  }

  async take(request: TakeRequest): Promise<TakeAnswer> {
    checkTake(request);
    return this.map.take(request, this.reading());
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    const named = namedGrant(grant);
    if (named !== undefined) this.map.giveBack(named, unused, this.reading());
  }

  async create(counter: NewCounter): Promise<boolean> {
    checkNew(counter);
    return this.map.create(counter, this.reading());
  }

  async counters(): Promise<CounterRecord[]> {
    return this.map.counters(this.clock.now());
  }

  async advice(): Promise<string[]> {
    return [
      'Counters in memory are forgotten when the process ends, and a counter that is created ' +
        'again from the same number makes the same numbers. Use Redis or a database for numbers ' +
        'that must last.',
    ];
  }

  private reading() {
    const random = Math.random().toString(36).slice(2);
    return { timeMs: this.clock.now(), server: 'memory', random, lossWindowMs: 0 };
  }
}

/*
 * Counters in memory: a Map around the rules of `lib/counters`.
 *
 * Time, server and randomness are given at each call, and each call is one step, so that tests and
 * simulations decide what happens.
 */

export interface CounterState {
  readonly header: CounterHeader;
  readonly rows: ReadonlyMap<string, CounterRow>;
}

export class CounterMap {
  /** Undefined where nothing was ever counted, or where it was lost. */
  state: CounterState | undefined;

  take(request: TakeRequest, reading: CounterReading): TakeAnswer {
    return this.taken(request.counter, (snapshot) => take(snapshot, request, reading));
  }

  giveBack(grant: NamedGrant, unused: bigint, reading: CounterReading): boolean {
    return this.taken(grant.counter, (snapshot) =>
      giveBack(snapshot, { ...grant, unused }, reading),
    );
  }

  create(counter: NewCounter, reading: CounterReading): boolean {
    return this.taken(counter.counter, (snapshot) => createCounter(snapshot, counter, reading));
  }

  counters(timeMs: number): CounterRecord[] {
    const { state } = this;
    if (state === undefined) return [];
    const { header, rows } = state;
    const named = [...rows].map(([counter, row]) => ({ counter, header, row }));
    return counterRecords(named, { timeMs });
  }

  private taken<T>(counter: string, rule: (snapshot: CounterSnapshot) => CounterStep<T>): T {
    const { header, rows = new Map<string, CounterRow>() } = this.state ?? {};
    const step = rule({ header, row: rows.get(counter) });
    const written = step.row === undefined ? rows : new Map(rows).set(counter, step.row);
    const after = step.header ?? header;
    if (after !== undefined) this.state = { header: after, rows: written };
    return step.answer;
  }
}
