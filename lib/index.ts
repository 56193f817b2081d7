/**
 * The front door: everything but the clients of stores and ORMs, which have entries of their own.
 */
export * from './core/index.js';
export { MemoryRegistry, MemorySupport } from './backends/memory/index.js';
export type { MemorySupportOptions } from './backends/memory/index.js';
export { IDistributedSupport } from './lease/distributed-support.js';
export type {
  HolderLabel,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  LeaseTerms,
  RegistryMark,
  WorkerLease,
  WorkerRecord,
} from './lease/distributed-support.js';
export type { LeaseState } from './lease/lease-states.js';
export { StaticSupport } from './lease/static.support.js';
export type { Timers } from './lease/timers.js';
export { InjectIdMaker } from './nest/decorators.js';
export { IdMaker } from './nest/id-maker.js';
export type { IdMakerStatus } from './nest/id-maker.js';
export type { SnowflakeModuleOptions } from './nest/options.js';
export { RefreshAlive } from './nest/refresh-alive.job.js';
export { SnowflakeModule } from './nest/snowflake.module.js';
export type { SnowflakeModuleExtras, SnowflakeOptionsFactory } from './nest/snowflake.module.js';
export {
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './nest/tokens.js';
