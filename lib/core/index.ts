/**
 * The pure generator, layouts and text forms: no Nest, no I/O, runs anywhere.
 */
export { SnowflakeError, isSnowflakeError } from '../errors.js';
export type { SnowflakeErrorCode, SnowflakeErrorOptions } from '../errors.js';
export { BitLayout } from './layout/bit-layout.js';
export type { BitLayoutOptions, ComposeParts, SnowflakeParts } from './layout/bit-layout.js';
export type { CallFields } from './generator/call-words.js';
export { systemClock } from './clock.js';
export type { Clock } from './clock.js';
export type { Epoch } from './layout/epoch.js';
export type { FieldRole, LayoutField } from './layout/layout-field.js';
export type { FieldSpec } from './layout/layout-fields.js';
export { moveAfter } from './layout/move-after.js';
export type { MoveAfter } from './layout/move-after.js';
export { layouts } from './layout/presets.js';
export type {
  IchLayoutOptions,
  LayoutOptions,
  TsidLayoutOptions,
  YitterLayoutOptions,
} from './layout/presets-of-others.js';
export { readableForm } from './layout/readable-form.js';
export type { ReadableFormOptions } from './layout/readable-form.js';
export { joinSharedLease } from './generator/join-shared-lease.js';
export type { SharedLease } from './seat/shared-lease.js';
export { SnowflakeGenerator } from './generator/snowflake-generator.js';
export type { GeneratorOptions } from './generator/snowflake-generator.js';
export { idFromBytes, idToBytes } from './text/bytes.js';
export { checkDigits } from './text/check-digits.js';
export type { CheckDigit } from './text/check-digits.js';
export {
  checkDigitForm,
  fixedWidthForm,
  prefixedForm,
  suffixedForm,
} from './text/composed-forms.js';
export type { PublicId, PublicIds } from './text/opaque-form.js';
export { parseJson } from './text/parse-json.js';
export type { PublicIdKey } from './text/public-id-key.js';
export { publicIds } from './text/public-ids.js';
export type { PublicIdsOptions } from './text/public-ids.js';
export type { SnowflakeId } from './text/snowflake-id.js';
export type { TextForm } from './text/text-form.js';
export { textForms } from './text/text-forms.js';
export type { WorkerIdRange } from './layout/worker-id-range.js';
export { WorkerSeat } from './seat/worker-seat.js';
export type { LeasedRange, SeatWatch, SeatedRange } from './seat/worker-seat.js';
