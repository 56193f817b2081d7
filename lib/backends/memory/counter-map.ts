/**
 * Counters in memory: a Map around the rules of `lib/counters`.
 *
 * Time, server and randomness are given at each call, and each call is one step, so that tests and
 * simulations decide what happens.
 */
import { createCounter } from '../../counters/create-counter.js';
import type { NamedGrant } from '../../counters/grant-text.js';
import { giveBack } from '../../counters/give-back.js';
import { counterRecords } from '../../counters/counter-view.js';
import type {
  CounterHeader,
  CounterReading,
  CounterRow,
  CounterSlice,
  CounterStep,
} from '../../counters/counter-slice.js';
import type {
  CounterRecord,
  NewCounter,
  TakeAnswer,
  TakeRequest,
} from '../../counters/counter-store.js';
import { take } from '../../counters/take.js';

export interface CounterState {
  readonly header: CounterHeader;
  readonly rows: ReadonlyMap<string, CounterRow>;
}

export class CounterMap {
  /** Undefined where nothing was ever counted, or where it was lost. */
  state: CounterState | undefined;

  take(request: TakeRequest, reading: CounterReading): TakeAnswer {
    return this.taken(request.counter, (slice) => take(slice, request, reading));
  }

  giveBack(grant: NamedGrant, unused: bigint, reading: CounterReading): boolean {
    return this.taken(grant.counter, (slice) => giveBack(slice, { ...grant, unused }, reading));
  }

  create(counter: NewCounter, reading: CounterReading): boolean {
    return this.taken(counter.counter, (slice) => createCounter(slice, counter, reading));
  }

  counters(timeMs: number): CounterRecord[] {
    const { state } = this;
    if (state === undefined) return [];
    const { header, rows } = state;
    const named = [...rows].map(([counter, row]) => ({ counter, header, row }));
    return counterRecords(named, { timeMs });
  }

  private taken<T>(counter: string, rule: (slice: CounterSlice) => CounterStep<T>): T {
    const { header, rows = new Map<string, CounterRow>() } = this.state ?? {};
    const step = rule({ header, row: rows.get(counter) });
    const written = step.row === undefined ? rows : new Map(rows).set(counter, step.row);
    const after = step.header ?? header;
    if (after !== undefined) this.state = { header: after, rows: written };
    return step.answer;
  }
}
