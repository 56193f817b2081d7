/**
 * Counters as an operator sees them.
 *
 * Promise: nothing is changed by looking.
 */
import { nowAt, type LaterTime } from '../registry/registry-clock.js';
import type { CounterRow, CounterHeader } from './counter-slice.js';
import type { CounterRecord } from './counter-store.js';

export interface NamedCounter {
  readonly counter: string;
  readonly header: CounterHeader;
  readonly row: CounterRow;
}

/** In the order of their names. */
export function counterRecords(
  counters: readonly NamedCounter[],
  later: LaterTime,
): CounterRecord[] {
  return counters
    .toSorted((a, b) => (a.counter < b.counter ? -1 : 1))
    .map(({ counter, header, row: { form, next, readyAtMs } }) => {
      const waitMs = Math.max(0, readyAtMs - nowAt(header, later));
      return { counter, form, next, era: header.era, waitMs };
    });
}
