/**
 * `nestjs-snowflake/segments`: dense numbers of a counter instead of snowflake ids, and series that
 * start again with each day, month or year.
 */
export { SegmentsModule, startSegments } from './segments.module.js';
export type {
  SegmentsModuleOptions,
  SegmentsOptionsFactory,
  SegmentsScriptOptions,
} from './segments.module.js';
export type { GeneratorOptions } from '../generator-module.js';
export type { HighestId, SegmentOptions } from '../../counters/segments/segment-options.js';
export { series } from '../../counters/series/series.js';
export type {
  Series,
  SeriesOptions,
  SeriesFormOptions,
  SeriesParts,
  Period,
} from '../../counters/series/series.js';
export type { CounterStore } from '../../counters/counter-store.js';
