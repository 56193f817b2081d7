/**
 * The reference counters of the tests: a Map around the rules of `lib/counters`.
 *
 * Each call takes the time, the server and the random value, and is one step. So tests and
 * simulations control the sequence of events.
 */
import { createCounter, giveBack, take } from '../../lib/counters/counter-rules.js';
import {
  counterRecords,
  type CounterHeader,
  type CounterRow,
  type CounterSnapshot,
  type CounterStep,
  type CounterRecord,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
  type NamedGrant,
} from '../../lib/counters/counter-store.js';
import type { StoreReading } from '../../lib/rows/row-store.js';

export interface CounterState {
  readonly header: CounterHeader;
  readonly rows: ReadonlyMap<string, CounterRow>;
}

export class CounterMap {
  /** Undefined before the first count, or after a loss. */
  state: CounterState | undefined;

  take(request: TakeRequest, reading: StoreReading): TakeAnswer {
    return this.taken(request.counter, (snapshot) => take(snapshot, request, reading));
  }

  giveBack(grant: NamedGrant, unused: bigint, reading: StoreReading): boolean {
    return this.taken(grant.counter, (snapshot) =>
      giveBack(snapshot, { ...grant, unused }, reading),
    );
  }

  create(counter: NewCounter, reading: StoreReading): boolean {
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
