/**
 * `nestjs-snowflake/segments`: dense numbers of a counter instead of snowflake ids.
 */
export { segments } from './segments/segments.js';
export type { HighestId, SegmentOptions } from './segments/segment-options.js';
export type { GeneratorKind } from '../generator-kind.js';
export type { CounterStore } from './counter-store.js';
