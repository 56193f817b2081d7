/**
 * The pure generator, layouts and text forms: no Nest, no I/O, runs anywhere.
 */
export {
  SnowflakeError,
  isSnowflakeError,
  type SnowflakeErrorCode,
  type SnowflakeErrorOptions,
} from '../errors.js';
export {
  BitLayout,
  type BitLayoutOptions,
  type ComposeParts,
  type SnowflakeParts,
} from './layout/bit-layout.js';
export type { CallFields } from './generator/id-source.js';
export { systemClock, type Clock } from './clock.js';
export {
  type Epoch,
  type FieldRole,
  type LayoutField,
  type FieldSpec,
} from './layout/layout-fields.js';
export { moveAfter, type MoveAfter } from './layout/compatibility.js';
export {
  layouts,
  type IchLayoutOptions,
  type LayoutOptions,
  type TsidLayoutOptions,
  type YitterLayoutOptions,
} from './layout/presets.js';
export {
  joinSharedLease,
  SnowflakeGenerator,
  type GeneratorOptions,
} from './generator/snowflake-generator.js';
export type { SharedLease } from './window/shared-lease.js';
export { idFromBytes, idToBytes } from './text/decimal.js';
export { prefixedForm, textForms } from './text/text-forms.js';
export {
  type PublicId,
  type PublicIds,
  type PublicIdKey,
  type PublicIdsOptions,
  publicIds,
} from './text/public-ids.js';
export { parseJson } from './text/parse-json.js';
export type { SnowflakeId, TextForm } from './text/text-form.js';
export type { WorkerIdRange } from './layout/worker-id-range.js';
export {
  LeaseWindow,
  type LeasedRange,
  type WindowWatch,
  type WindowRange,
} from './window/lease-window.js';
