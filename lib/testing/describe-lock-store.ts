/**
 * The contract of a lock store as a suite of tests, for any test runner and any store.
 *
 * Guarantee: every rule by which a lock has one holder and tokens rise is tested. Cases without a
 * control are left out only if `leaveOut` says so.
 */
import { processWide } from '../process-wide.js';
import { addTests } from './contract/harness.js';
import { HOLD_CASES, LOCK_RACE_CASES } from './lock-contract.js';
import { LockHarness, type LockHarnessParts, type LockNeed } from './lock-harness.js';
import { LOCK_CLOCK_CASES, LOCK_LOSS_CASES } from './lock-loss-cases.js';

/** The argument of describeLockStore(). */
export interface LockContract extends LockHarnessParts {
  /** `it` or `test` of the runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /**
   * Things that the store or the test cannot do: 'clock' (no `clockControl`), 'losses' (no
   * `lossControl`), 'locks', 'notes', 'untilReleased' (missing methods).
   */
  readonly leaveOut?: readonly LockNeed[] | undefined;
}

export const LOCK_CASES = [
  ...HOLD_CASES,
  ...LOCK_RACE_CASES,
  ...LOCK_CLOCK_CASES,
  ...LOCK_LOSS_CASES,
];

const stores = processWide('lock-contract-stores', () => ({ count: 0 }));

/**
 * Adds a test for each demand on a lock store.
 *
 * @throws TypeError at once, when a control is missing and `leaveOut` does not say so.
 * @example
 * ```ts
 * import { describe, expect, it } from '@jest/globals';
 * import { MemoryLocks } from 'nestjs-snowflake';
 * import { describeLockStore, SettableTime } from 'nestjs-snowflake/testing';
 *
 * const clock = new SettableTime();
 * const stores = new Map<string, MemoryLocks>();
 *
 * describe('MemoryLocks', () => {
 *   describeLockStore({
 *     test: it,
 *     expect,
 *     createStore(name) {
 *       const store = stores.get(name) ?? new MemoryLocks({ clock });
 *       stores.set(name, store);
 *       return store;
 *     },
 *     clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
 *     leaveOut: ['losses'],
 *   });
 * });
 * ```
 */
export function describeLockStore(contract: LockContract): void {
  addTests(contract, LOCK_CASES, () => new LockHarness(contract, `locks-${++stores.count}`));
}
