/**
 * `nestjs-snowflake/segments`: dense numbers of a counter instead of snowflake ids, and series that
 * start again with each day, month or year.
 */
export { segments } from './segments/segments.js';
export type { HighestId, SegmentOptions } from './segments/segment-options.js';
export { series } from './series/series.js';
export type {
  Series,
  SeriesOptions,
  SeriesFormOptions,
  SeriesParts,
  Period,
} from './series/series.js';

export type { GeneratorKind } from '../generator.js';
export type { CounterStore } from './counter-store.js';
