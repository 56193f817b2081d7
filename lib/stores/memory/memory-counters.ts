/**
 * Counters in this process: for tests, and for numbers that no other process needs.
 *
 * Guarantee: the full CounterStore contract. It is empty at each start, so the application must
 * find earlier numbers elsewhere.
 */
import type { Clock } from '../../core/clock.js';
import { RowCounters } from '../../counters/row-counters.js';
import { rowsBy, WITHOUT_PAUSE } from './memory-rows.js';

/** Options of MemoryCounters. */
export interface MemoryCountersOptions {
  /** Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/**
 * Counters in memory. To share them, pass the same object.
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
export class MemoryCounters extends RowCounters {
  constructor(options: MemoryCountersOptions = {}) {
    super(rowsBy(options, 'MemoryCounters'), WITHOUT_PAUSE);
  }

  override async advice(): Promise<string[]> {
    return [
      'Counters in memory are forgotten when the process ends, and a counter that is created ' +
        'again from the same number makes the same numbers. Use Redis or a database for numbers ' +
        'that must last.',
    ];
  }
}
