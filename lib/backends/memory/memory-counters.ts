/**
 * Counters in this process: for tests, and for whoever numbers only what this process knows.
 *
 * Promise: the contract of CounterStore in full, by the reference rules. It is empty at each start,
 * so that what was counted before must be known from elsewhere.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { checkNew, checkTake } from '../../counters/check-take.js';
import type {
  CounterRecord,
  CounterStore,
  NewCounter,
  TakeAnswer,
  TakeRequest,
} from '../../counters/counter-store.js';
import { namedGrant } from '../../counters/grant-text.js';
import { CounterMap } from './counter-map.js';
import { methodFaults, refuse, unknownNames } from '../../option-faults.js';

/** Options of MemoryCounters. */
export interface MemoryCountersOptions {
  /** Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/**
 * Whoever shall share counters is given the same object.
 *
 * @example
 * ```ts
 * import { MemoryCounters } from 'nestjs-snowflake';
 *
 * const store = new MemoryCounters();
 * await store.create({ counter: 'order', start: 1n });
 * await store.take({ kind: 'dense', counter: 'order', count: 100n, have: 0n, skip: 1000n });
 * ```
 */
export class MemoryCounters implements CounterStore {
  readonly place = 'the memory of this process';
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
