/**
 * The main entry, for applications. `core` has the parts of a generator, and `store` those of a
 * custom store. Clients of stores and ORMs have separate entries.
 */
export {
  SnowflakeError,
  isSnowflakeError,
  type SnowflakeErrorCode,
  type SnowflakeErrorOptions,
} from './errors.js';

export { SnowflakeModule, type SnowflakeOptionsFactory } from './nest/snowflake.module.js';
export type { SnowflakeModuleExtras } from './nest/providers.js';
export type { SnowflakeModuleOptions } from './nest/resolve-options.js';
export type { SupportFromUrl } from './stores/schemes.js';
export {
  startSnowflake,
  type RunningSnowflake,
  type SnowflakeScriptOptions,
} from './nest/start-snowflake.js';
export {
  currentIdMaker,
  IdMaker,
  type IdMakerStatus,
  type SharedLeaseStatus,
  type LeaseStatus,
  type RenewalStatus,
} from './nest/id-maker.js';
export type { RegionStatus } from './lease/region-claim.js';
export { RefreshAlive } from './nest/refresh-alive.job.js';
export {
  InjectIdMaker,
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './nest/tokens.js';

export {
  IDistributedSupport,
  type LeaseAnswer,
  type LeaseGrant,
  type LeaseRequest,
  type LeaseTerms,
  type RegistryMark,
  type WorkerLease,
  type WorkerRecord,
} from './lease/distributed-support.js';
export type { LeaseState } from './lease/held-lease.js';
export type { WorkerIdChange } from './lease/keeper.js';
export { StaticSupport, type WorkerIdClaim, type WorkerIdSource } from './lease/static.support.js';
export { ordinalSupport } from './stores/host/ordinal.support.js';
export {
  MemoryCounters,
  MemoryLocks,
  MemoryRows,
  MemorySupport,
  type MemoryCountersOptions,
  type MemoryLocksOptions,
  type MemorySupportOptions,
} from './stores/memory/index.js';
export type { HolderLabel } from './time/process-identity.js';

export {
  BitLayout,
  type BitLayoutOptions,
  type ComposeParts,
  type SnowflakeParts,
} from './core/layout/bit-layout.js';
export {
  layouts,
  type IchLayoutOptions,
  type LayoutOptions,
  type TsidLayoutOptions,
  type YitterLayoutOptions,
} from './core/layout/presets.js';
export {
  type Epoch,
  type FieldRole,
  type FieldSpec,
  type LayoutField,
} from './core/layout/layout-fields.js';
export type { WorkerIdRange } from './core/layout/worker-id-range.js';
export { textForms } from './core/text/text-forms.js';
export type { SnowflakeId, TextForm } from './core/text/text-form.js';
export {
  publicIds,
  type PublicId,
  type PublicIdKey,
  type PublicIds,
  type PublicIdsOptions,
} from './core/text/public-ids.js';
export { parseJson } from './core/text/parse-json.js';
export type { CallFields } from './core/generator/id-source.js';
export type { SharedLease } from './core/window/shared-lease.js';

export type { Clock } from './core/clock.js';
export type { Timers } from './time/timers.js';
