/**
 * The entry `nestjs-snowflake/testing`: the contracts of a support, of a counter store and of a
 * lock store, settable time, fake ids.
 */
export type {
  BenchParts,
  ClockControl,
  ContractNeed,
  Expect,
  LossControl,
  VersionControl,
} from './contract/harness.js';
export type { CounterBenchParts, CounterNeed } from './counter-harness.js';
export { describeCounterStore, type CounterContract } from './describe-counter-store.js';
export {
  describeDistributedSupport,
  type SupportContract,
} from './describe-distributed-support.js';
export type { LockBenchParts, LockNeed } from './lock-harness.js';
export { describeLockStore, type LockContract } from './describe-lock-store.js';
export { fakeIdMaker, type FakeIdMakerOptions } from './fake-id-maker.js';
export { SettableTime } from './settable-time.js';
