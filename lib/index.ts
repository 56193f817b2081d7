/**
 * The front door: everything but the clients of stores and ORMs, which have entries of their own.
 */
export { SnowflakeError, isSnowflakeError } from './errors.js';
export type { SnowflakeErrorCode, SnowflakeErrorOptions } from './errors.js';
export { BitLayout } from './core/layout/bit-layout.js';
export type { BitLayoutOptions, ComposeParts, SnowflakeParts } from './core/layout/bit-layout.js';
export type { CallFields } from './core/generator/id-source.js';
export { systemClock } from './core/clock.js';
export type { Clock } from './core/clock.js';
export type { Epoch } from './core/layout/epoch.js';
export type { FieldRole, LayoutField, FieldSpec } from './core/layout/layout-fields.js';
export { moveAfter } from './core/layout/compatibility.js';
export type { MoveAfter } from './core/layout/compatibility.js';
export { layouts } from './core/layout/presets.js';
export type {
  IchLayoutOptions,
  LayoutOptions,
  TsidLayoutOptions,
  YitterLayoutOptions,
} from './core/layout/presets.js';
export { readableForm } from './core/layout/readable-form.js';
export type { ReadableFormOptions } from './core/layout/readable-form.js';
export { joinSharedLease, SnowflakeGenerator } from './core/generator/snowflake-generator.js';
export type { SharedLease } from './core/window/shared-lease.js';
export type { GeneratorOptions } from './core/generator/snowflake-generator.js';
export { idFromBytes, idToBytes } from './core/text/decimal.js';
export { checkDigits } from './core/text/check-digits.js';
export type { CheckDigit } from './core/text/check-digits.js';
export {
  checkDigitForm,
  fixedWidthForm,
  prefixedForm,
  suffixedForm,
  textForms,
} from './core/text/text-forms.js';
export type { PublicId, PublicIds, PublicIdKey, PublicIdsOptions } from './core/text/public-ids.js';
export { parseJson } from './core/text/parse-json.js';
export { publicIds } from './core/text/public-ids.js';
export type { SnowflakeId, TextForm } from './core/text/text-form.js';
export type { WorkerIdRange } from './core/layout/worker-id-range.js';
export { LeaseWindow } from './core/window/lease-window.js';
export type { LeasedRange, WindowWatch, WindowRange } from './core/window/lease-window.js';
export { ordinalSupport } from './stores/host/ordinal.support.js';
export {
  MemoryCounters,
  MemoryLocks,
  MemoryRegistry,
  MemorySupport,
} from './stores/memory/index.js';
export type {
  MemoryCountersOptions,
  MemoryLocksOptions,
  MemorySupportOptions,
} from './stores/memory/index.js';
export type {
  ClockTake,
  CounterRecord,
  CounterStore,
  DenseTake,
  NewCounter,
  TakeAnswer,
  TakeGrant,
  TakeRequest,
} from './counters/counter-store.js';
export type { WorkerIdClaim, WorkerIdSource } from './lease/claim.support.js';
export { IDistributedSupport } from './lease/distributed-support.js';
export type {
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  LeaseTerms,
  RegistryMark,
  WorkerLease,
  WorkerRecord,
} from './lease/distributed-support.js';
export type { LeaseState } from './lease/held-lease.js';
export { StaticSupport } from './lease/static.support.js';
export type { HolderLabel } from './time/process-identity.js';
export type { Timers } from './time/timers.js';
export { highest, slewed } from './rows/store-clock.js';
export type { ClockPolicy, ClockState } from './rows/store-clock.js';
export { RegistrySupport } from './registry/registry-support.js';
export type { RegistrySupportParts } from './registry/registry-support.js';
export type { Finding, Level } from './registry/registry-view.js';
export { HEADER_ID } from './registry/slice-store.js';
export type {
  RegistryRow,
  RegistrySlice,
  RowWrite,
  SliceQuestion,
  SliceStore,
  SliceWrite,
  StoredRow,
} from './registry/slice-store.js';
export { currentIdMaker, IdMaker } from './nest/id-maker.js';
export {
  InjectIdMaker,
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './nest/tokens.js';
export type { IdMakerStatus, JoinedStatus, LeaseStatus, RenewalStatus } from './nest/id-maker.js';
export type { SnowflakeModuleOptions } from './nest/resolve-options.js';
export type { SupportFromUrl } from './stores/schemes.js';
export { RefreshAlive } from './nest/refresh-alive.job.js';
export { SnowflakeModule } from './nest/snowflake.module.js';
export type { SnowflakeModuleExtras, SnowflakeOptionsFactory } from './nest/snowflake.module.js';
export { startSnowflake } from './nest/start-snowflake.js';
export type { RunningSnowflake, SnowflakeScriptOptions } from './nest/start-snowflake.js';
