/**
 * The pure generator, layouts and text forms: no Nest, no I/O, runs anywhere.
 */
export { SnowflakeError, isSnowflakeError } from '../errors.js';
export type { SnowflakeErrorCode, SnowflakeErrorOptions } from '../errors.js';
export { BitLayout } from './layout/bit-layout.js';
export type { BitLayoutOptions, ComposeParts, SnowflakeParts } from './layout/bit-layout.js';
export type { CallFields } from './generator/id-source.js';
export { systemClock } from './clock.js';
export type { Clock } from './clock.js';
export type { Epoch } from './layout/layout-fields.js';
export type { FieldRole, LayoutField, FieldSpec } from './layout/layout-fields.js';
export { moveAfter } from './layout/compatibility.js';
export type { MoveAfter } from './layout/compatibility.js';
export { layouts } from './layout/presets.js';
export type {
  IchLayoutOptions,
  LayoutOptions,
  TsidLayoutOptions,
  YitterLayoutOptions,
} from './layout/presets.js';
export { readableForm } from './layout/readable-form.js';
export type { ReadableFormOptions } from './layout/readable-form.js';
export { joinSharedLease, SnowflakeGenerator } from './generator/snowflake-generator.js';
export type { SharedLease } from './window/shared-lease.js';
export type { GeneratorOptions } from './generator/snowflake-generator.js';
export { idFromBytes, idToBytes } from './text/decimal.js';
export { checkDigits } from './text/check-digits.js';
export type { CheckDigit } from './text/check-digits.js';
export {
  checkDigitForm,
  fixedWidthForm,
  prefixedForm,
  suffixedForm,
  textForms,
} from './text/text-forms.js';
export type { PublicId, PublicIds, PublicIdKey, PublicIdsOptions } from './text/public-ids.js';
export { parseJson } from './text/parse-json.js';
export { publicIds } from './text/public-ids.js';
export type { SnowflakeId, TextForm } from './text/text-form.js';
export type { WorkerIdRange } from './layout/worker-id-range.js';
export { LeaseWindow } from './window/lease-window.js';
export type { LeasedRange, WindowWatch, WindowRange } from './window/lease-window.js';
