/**
 * The entry `nestjs-snowflake/testing`: the contracts of a support, of a counter store and of a
 * lock store, settable time, fake IDs.
 */
export type {
  HarnessParts,
  ClockControl,
  ContractNeed,
  Expect,
  LossControl,
  VersionControl,
} from './contract/harness.js';
export type { CounterHarnessParts, CounterNeed } from './counter-harness.js';
export {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
  type CounterContract,
  type LockContract,
  type SupportContract,
} from './describe-stores.js';
export type { LockHarnessParts, LockNeed } from './lock-harness.js';
export { fakeIdMaker, type FakeIdMakerOptions } from './fake-id-maker.js';
export { SettableTime } from './settable-time.js';
