/**
 * The tools of a contract case for counters: an empty store, clients of it, the store's clock, and
 * the `expect` of the user's test runner.
 */
import type {
  ClockTake,
  CounterStore,
  DenseTake,
  TakeAnswer,
  TakeGrant,
  TakeRequest,
} from '../counters/counter-store.js';
import {
  casesOf,
  StoreHarness,
  type ClockControl,
  type Expect,
  type LossControl,
} from './contract/harness.js';

/** A case's requirement in addition to a store. */
export type CounterNeed = 'clock' | 'losses' | 'giveBack' | 'create' | 'counters';

export const counterCases = casesOf<CounterNeed, CounterHarness>;

/** The needs of the contract of a counter store. */
export interface CounterHarnessParts {
  readonly expect: Expect;
  /** Creates a store that shares its counters with every other store of the same name. */
  readonly createStore: (name: string) => CounterStore | Promise<CounterStore>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
}

/** The terms of clients unless a case says otherwise. */
export const DENSE = {
  kind: 'dense',
  counter: 'order',
  count: 10n,
  have: 0n,
  lossGap: 1000n,
} as const;
export const CLOCK = {
  kind: 'clock',
  counter: 'event',
  count: 10n,
  have: 0n,
  perMs: 1024,
  aheadMs: 1000,
} as const;

export class CounterHarness extends StoreHarness<CounterStore, CounterHarnessParts> {
  dense(changes: Partial<DenseTake> = {}): Promise<TakeAnswer> {
    return this.asked({ ...DENSE, ...changes });
  }

  clock(changes: Partial<ClockTake> = {}): Promise<TakeAnswer> {
    return this.asked({ ...CLOCK, ...changes });
  }

  /** Takes from a dense counter, after each wait. */
  take(changes: Partial<DenseTake> = {}): Promise<TakeGrant> {
    return this.patiently(() => this.dense(changes));
  }

  /** The same, from a counter that begins at 1 if it is absent. */
  begun(changes: Partial<DenseTake> = {}): Promise<TakeGrant> {
    return this.take({ startAt: 1n, ...changes });
  }

  /** Takes from a counter that follows the clock, after each wait. */
  tick(changes: Partial<ClockTake> = {}): Promise<TakeGrant> {
    return this.patiently(() => this.clock(changes));
  }

  /** The answer may also hold the clock of the counter. */
  waits(answer: TakeAnswer, ms: number): void {
    const { status, waitMs } = answer as { status: string; waitMs?: number };
    this.expect({ status, waitMs }).toEqual({ status: 'wait', waitMs: ms });
  }

  follows(earlier: TakeGrant, later: TakeGrant): void {
    this.expect(later.first >= earlier.end).toEqual(true);
  }

  private async asked(request: TakeRequest): Promise<TakeAnswer> {
    return (await this.store()).take(request);
  }
}
