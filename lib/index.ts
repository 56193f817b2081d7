/**
 * The front door: everything but the clients of stores and ORMs, which have entries of their own.
 */
export { SnowflakeError, isSnowflakeError } from './errors.js';
export type { SnowflakeErrorCode, SnowflakeErrorOptions } from './errors.js';
export { BitLayout } from './core/layout/bit-layout.js';
export type { BitLayoutOptions, ComposeParts, SnowflakeParts } from './core/layout/bit-layout.js';
export type { CallFields } from './core/generator/call-words.js';
export { systemClock } from './core/clock.js';
export type { Clock } from './core/clock.js';
export type { Epoch } from './core/layout/epoch.js';
export type { FieldRole, LayoutField } from './core/layout/layout-field.js';
export type { FieldSpec } from './core/layout/layout-fields.js';
export { moveAfter } from './core/layout/move-after.js';
export type { MoveAfter } from './core/layout/move-after.js';
export { layouts } from './core/layout/presets.js';
export type {
  IchLayoutOptions,
  LayoutOptions,
  TsidLayoutOptions,
  YitterLayoutOptions,
} from './core/layout/presets-of-others.js';
export { readableForm } from './core/layout/readable-form.js';
export type { ReadableFormOptions } from './core/layout/readable-form.js';
export { joinSharedLease } from './core/generator/join-shared-lease.js';
export type { SharedLease } from './core/seat/shared-lease.js';
export { SnowflakeGenerator } from './core/generator/snowflake-generator.js';
export type { GeneratorOptions } from './core/generator/snowflake-generator.js';
export { idFromBytes, idToBytes } from './core/text/bytes.js';
export { checkDigits } from './core/text/check-digits.js';
export type { CheckDigit } from './core/text/check-digits.js';
export {
  checkDigitForm,
  fixedWidthForm,
  prefixedForm,
  suffixedForm,
} from './core/text/composed-forms.js';
export type { PublicId, PublicIds } from './core/text/opaque-form.js';
export { parseJson } from './core/text/parse-json.js';
export type { PublicIdKey } from './core/text/public-id-key.js';
export { publicIds } from './core/text/public-ids.js';
export type { PublicIdsOptions } from './core/text/public-ids.js';
export type { SnowflakeId } from './core/text/snowflake-id.js';
export type { TextForm } from './core/text/text-form.js';
export { textForms } from './core/text/text-forms.js';
export type { WorkerIdRange } from './core/layout/worker-id-range.js';
export { WorkerSeat } from './core/seat/worker-seat.js';
export type { LeasedRange, SeatWatch, SeatedRange } from './core/seat/worker-seat.js';
export { ordinalSupport } from './backends/host/ordinal.support.js';
export {
  MemoryCounters,
  MemoryLocks,
  MemoryRegistry,
  MemorySupport,
} from './backends/memory/index.js';
export type {
  MemoryCountersOptions,
  MemoryLocksOptions,
  MemorySupportOptions,
} from './backends/memory/index.js';
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
export type { LeaseState } from './lease/lease-states.js';
export { StaticSupport } from './lease/static.support.js';
export type { HolderLabel } from './patience/process-identity.js';
export type { Timers } from './patience/timers.js';
export { highest, slewed } from './registry/registry-clock.js';
export type { ClockPolicy, ClockState } from './registry/registry-clock.js';
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
export { currentIdMaker } from './nest/current-id-makers.js';
export { InjectIdMaker } from './nest/decorators.js';
export { IdMaker } from './nest/id-maker.js';
export type {
  IdMakerStatus,
  JoinedStatus,
  LeaseStatus,
  RenewalStatus,
} from './nest/id-maker-status.js';
export type { SnowflakeModuleOptions } from './nest/options.js';
export type { SupportFromUrl } from './backends/schemes.js';
export { RefreshAlive } from './nest/refresh-alive.job.js';
export { SnowflakeModule } from './nest/snowflake.module.js';
export type { SnowflakeModuleExtras, SnowflakeOptionsFactory } from './nest/snowflake.module.js';
export { startSnowflake } from './nest/start-snowflake.js';
export type { RunningSnowflake, SnowflakeScriptOptions } from './nest/start-snowflake.js';
export {
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './nest/tokens.js';
