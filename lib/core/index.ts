/**
 * The pure generator, layouts and text forms: no Nest, no I/O, runs anywhere.
 */
export { SnowflakeError, isSnowflakeError } from '../errors.js';
export type { SnowflakeErrorCode, SnowflakeErrorOptions } from '../errors.js';
export { BitLayout } from './bit-layout.js';
export type { BitLayoutOptions, ComposeParts, SnowflakeParts } from './bit-layout.js';
export type { CallFields } from './call-words.js';
export { systemClock } from './clock.js';
export type { Clock } from './clock.js';
export type { Epoch } from './epoch.js';
export type { FieldRole, LayoutField } from './layout-field.js';
export type { FieldSpec } from './layout-fields.js';
export { layouts } from './layouts.js';
export type { IchLayoutOptions, LayoutOptions } from './layouts.js';
export { joinSharedLease } from './shared-lease.js';
export type { SharedLease } from './shared-lease.js';
export { SnowflakeGenerator } from './snowflake-generator.js';
export type { GeneratorOptions } from './snowflake-generator.js';
export { idFromBytes, idToBytes, textForms } from './snowflake-text.js';
export type { TextForm } from './snowflake-text.js';
export type { WorkerIdRange } from './worker-range.js';
export { WorkerSeat } from './worker-seat.js';
export type { SeatWatch, SeatedRange, WorkerRange } from './worker-seat.js';
