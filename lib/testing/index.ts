/** The entry `nestjs-snowflake/testing`: the contract of a support, settable time, fake ids. */
export type {
  BenchParts,
  ClockControl,
  ContractNeed,
  Expect,
  LossControl,
  VersionControl,
} from './contract/bench.js';
export {
  describeDistributedSupport,
  type SupportContract,
} from './describe-distributed-support.js';
export { fakeIdMaker, type FakeIdMakerOptions } from './fake-id-maker.js';
export { SettableTime } from './settable-time.js';
