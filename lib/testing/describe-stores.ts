/**
 * The contracts of a support, of a counter store and of a lock store as test suites, for any test
 * runner and any store.
 *
 * Guarantee: the cases test every requirement of the lease protocol. They skip cases without a
 * control only if `leaveOut` lists it.
 */
import { processWide } from '../process-wide.js';
import { ACQUIRE_CASES, CLAIM_CASES } from './contract/acquire-cases.js';
import { addTests, Harness, type HarnessParts, type ContractNeed } from './contract/harness.js';
import { BRANCH_CASES, ERA_CASES, LOSS_CASES } from './contract/loss-cases.js';
import { ENDLESS_CASES, RELEASE_CASES, RENEW_CASES } from './contract/renew-cases.js';
import { LAYOUT_CASES, VERSION_CASES, QUARANTINE_CASES } from './contract/quarantine-cases.js';
import { MOVE_CASES } from './contract/move-cases.js';
import { RACE_CASES, WALK_CASES } from './contract/walk-cases.js';
import { REPEAT_CASES, WIDE_CASES } from './contract/repeat-cases.js';
import { TIME_CASES } from './contract/time-cases.js';
import { CounterHarness, type CounterHarnessParts, type CounterNeed } from './counter-harness.js';
import { COUNTER_CLOCK_CASES, DENSE_CASES, GIVE_BACK_CASES } from './counter-contract.js';
import { COUNTER_RACE_CASES, COUNTER_LOSS_CASES } from './counter-loss-cases.js';
import { HOLD_CASES, LOCK_RACE_CASES } from './lock-contract.js';
import { LockHarness, type LockHarnessParts, type LockNeed } from './lock-harness.js';
import { LOCK_CLOCK_CASES, LOCK_LOSS_CASES } from './lock-loss-cases.js';

/** The argument of describeDistributedSupport(). */
export interface SupportContract extends HarnessParts {
  /** `it` or `test` of the runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /**
   * What the support or the test cannot do:
   * - 'clock', 'losses', 'version': without `clockControl`, `lossControl` or `versionControl`
   * - 'release', 'workers': without the method
   * - 'longest free': it assigns any free worker ID, which is safe
   * - 'claims': it ignores `takesOver`, which is safe
   * - 'reckoned': it ignores the clocks of its callers
   * - 'moves': it ignores a change of layouts, which is safe
   * - 'wide': it does not have millions of worker IDs
   * - 'end': its leases never end, so only the duties of such a support are tested
   */
  readonly leaveOut?: readonly ContractNeed[] | undefined;
}

export const CONTRACT_CASES = [
  ...ACQUIRE_CASES,
  ...RENEW_CASES,
  ...RELEASE_CASES,
  ...REPEAT_CASES,
  ...RACE_CASES,
  ...CLAIM_CASES,
  ...LOSS_CASES,
  ...BRANCH_CASES,
  ...ERA_CASES,
  ...LAYOUT_CASES,
  ...QUARANTINE_CASES,
  ...MOVE_CASES,
  ...TIME_CASES,
  ...VERSION_CASES,
  ...WALK_CASES,
  ...WIDE_CASES,
];

/** Each test has its own store, even if another run in the same process has others. */
const stores = processWide('contract-stores', () => ({ count: 0 }));

/**
 * Adds a test for each requirement of a support.
 *
 * @throws TypeError at once, if a control is missing and `leaveOut` does not list it.
 * @example
 * ```ts
 * import { describe, expect, it } from '@jest/globals';
 * import { MemoryRows, MemorySupport } from 'nestjs-snowflake';
 * import { describeDistributedSupport, SettableTime } from 'nestjs-snowflake/testing';
 *
 * const clock = new SettableTime();
 * const stores = new Map<string, MemoryRows>();
 *
 * describe('MemorySupport', () => {
 *   describeDistributedSupport({
 *     test: it,
 *     expect,
 *     createSupport(name) {
 *       const rows = stores.get(name) ?? new MemoryRows(clock);
 *       stores.set(name, rows);
 *       return new MemorySupport({ rows });
 *     },
 *     clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
 *     leaveOut: ['losses', 'version'],
 *   });
 * });
 * ```
 */
export function describeDistributedSupport(contract: SupportContract): void {
  const cases = contract.leaveOut?.includes('end') ? ENDLESS_CASES : CONTRACT_CASES;
  addTests(contract, cases, () => new Harness(contract, `contract-${++stores.count}`));
}

/*
 * The contract of a counter store as a test suite, for any test runner and any store.
 *
 * Guarantee: the cases test every rule that keeps a counter from going back. They skip cases
 * without a control only if `leaveOut` lists it.
 */

/** The argument of describeCounterStore(). */
export interface CounterContract extends CounterHarnessParts {
  /** `it` or `test` of the runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /**
   * What the store or the test cannot do: 'clock' (no `clockControl`), 'losses' (no `lossControl`),
   * 'giveBack', 'create', 'counters' (missing methods).
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

/**
 * Adds a test for each requirement of a counter store.
 *
 * @throws TypeError at once, if a control is missing and `leaveOut` does not list it.
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

/*
 * The contract of a lock store as a test suite, for any test runner and any store.
 *
 * Guarantee: the cases test every rule for a single holder and rising tokens. They skip cases
 * without a control only if `leaveOut` lists it.
 */

/** The argument of describeLockStore(). */
export interface LockContract extends LockHarnessParts {
  /** `it` or `test` of the runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /**
   * What the store or the test cannot do: 'clock' (no `clockControl`), 'losses' (no `lossControl`),
   * 'steps' (it measures time by a clock that cannot be set), 'locks', 'notes', 'untilReleased'
   * (missing methods).
   */
  readonly leaveOut?: readonly LockNeed[] | undefined;
}

export const LOCK_CASES = [
  ...HOLD_CASES,
  ...LOCK_RACE_CASES,
  ...LOCK_CLOCK_CASES,
  ...LOCK_LOSS_CASES,
];

/**
 * Adds a test for each requirement of a lock store.
 *
 * @throws TypeError at once, if a control is missing and `leaveOut` does not list it.
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
