/**
 * The contract of a counter store as a suite of tests, for any test runner and any store.
 *
 * Guarantee: every rule by which a counter never goes back is tested. Cases without a control are
 * left out only if `leaveOut` says so.
 */
import { processWide } from '../process-wide.js';
import { addTests } from './contract/harness.js';
import { CounterHarness, type CounterHarnessParts, type CounterNeed } from './counter-harness.js';
import { COUNTER_CLOCK_CASES, DENSE_CASES, GIVE_BACK_CASES } from './counter-contract.js';
import { COUNTER_RACE_CASES, COUNTER_LOSS_CASES } from './counter-loss-cases.js';

/** The argument of describeCounterStore(). */
export interface CounterContract extends CounterHarnessParts {
  /** `it` or `test` of the runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /**
   * Things that the store or the test cannot do: 'clock' (no `clockControl`), 'losses' (no
   * `lossControl`), 'giveBack', 'create', 'counters' (missing methods).
   */
  readonly leaveOut?: readonly CounterNeed[] | undefined;
}

export const COUNTER_CASES = [
  ...DENSE_CASES,
  ...COUNTER_RACE_CASES,
  ...GIVE_BACK_CASES,
  ...COUNTER_LOSS_CASES,
  ...COUNTER_CLOCK_CASES,
];

const stores = processWide('counter-contract-stores', () => ({ count: 0 }));

/**
 * Adds a test for each demand on a counter store.
 *
 * @throws TypeError at once, when a control is missing and `leaveOut` does not say so.
 * @example
 * ```ts
 * import { describe, expect, it } from '@jest/globals';
 * import { MemoryCounters } from 'nestjs-snowflake';
 * import { describeCounterStore, SettableTime } from 'nestjs-snowflake/testing';
 *
 * const clock = new SettableTime();
 * const stores = new Map<string, MemoryCounters>();
 *
 * describe('MemoryCounters', () => {
 *   describeCounterStore({
 *     test: it,
 *     expect,
 *     createStore(name) {
 *       const store = stores.get(name) ?? new MemoryCounters({ clock });
 *       stores.set(name, store);
 *       return store;
 *     },
 *     clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
 *     leaveOut: ['losses'],
 *   });
 * });
 * ```
 */
export function describeCounterStore(contract: CounterContract): void {
  addTests(
    contract,
    COUNTER_CASES,
    () => new CounterHarness(contract, `counters-${++stores.count}`),
  );
}
