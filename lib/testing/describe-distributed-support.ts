/**
 * The contract of a support as a suite of tests, for any test runner and any store.
 *
 * Guarantee: every demand of the lease protocol on a store is tested. Cases without a control are
 * left out only if `leaveOut` says so.
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

/** The argument of describeDistributedSupport(). */
export interface SupportContract extends HarnessParts {
  /** `it` or `test` of the runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /**
   * Things that the support or the test cannot do: 'clock' (no `clockControl`), 'losses' (no
   * `lossControl`), 'version' (no `versionControl`), 'release', 'workers' (missing methods),
   * 'longest free' (any free worker id is taken, which is safe), 'claims' (it ignores `takesOver`,
   * which is safe), 'reckoned' (it ignores the clocks of its callers), 'moves' (it ignores a
   * change of layouts, which is safe), 'wide' (it does not have millions of worker ids), 'end'
   * (its leases never end: only the duties of such a support are tested).
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

const registries = processWide('contract-registries', () => ({ count: 0 }));

/**
 * Adds a test for each demand on a support.
 *
 * @throws TypeError at once, when a control is missing and `leaveOut` does not say so.
 * @example
 * ```ts
 * import { describe, expect, it } from '@jest/globals';
 * import { MemoryRegistry, MemorySupport } from 'nestjs-snowflake';
 * import { describeDistributedSupport, SettableTime } from 'nestjs-snowflake/testing';
 *
 * const clock = new SettableTime();
 * const registries = new Map<string, MemoryRegistry>();
 *
 * describe('MemorySupport', () => {
 *   describeDistributedSupport({
 *     test: it,
 *     expect,
 *     createSupport(name) {
 *       const registry = registries.get(name) ?? new MemoryRegistry();
 *       registries.set(name, registry);
 *       return new MemorySupport({ registry, clock });
 *     },
 *     clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
 *     leaveOut: ['losses', 'version'],
 *   });
 * });
 * ```
 */
export function describeDistributedSupport(contract: SupportContract): void {
  const cases = contract.leaveOut?.includes('end') ? ENDLESS_CASES : CONTRACT_CASES;
  addTests(contract, cases, () => new Harness(contract, `contract-${++registries.count}`));
}
