/**
 * `nestjs-snowflake/segments`: dense numbers of a counter instead of snowflake IDs, taken from a
 * store in advance, and series that start again each day, month or year.
 */
import { Module } from '@nestjs/common';
import type { CounterStore } from '../../counters/counter-store.js';
import { SegmentKeeper } from '../../counters/segments/segment-keeper.js';
import {
  givenStores,
  segmentTerms,
  type SegmentOptions,
} from '../../counters/segments/segment-options.js';
import { countersOf } from '../../stores/schemes.js';
import { generatorModule, startGenerator, type GeneratorOpener } from '../generator-module.js';
import { closeQuietly, made } from '../resolve-support.js';
import type { RunningSnowflake } from '../start-snowflake.js';

import type { GeneratorOptions } from '../generator-options.js';
export type { GeneratorOptions } from '../generator-options.js';
export type { HighestId, SegmentOptions } from '../../counters/segments/segment-options.js';
export {
  series,
  type Series,
  type SeriesOptions,
  type SeriesFormOptions,
  type SeriesParts,
  type Period,
} from '../../counters/series/series.js';
export type { CounterStore } from '../../counters/counter-store.js';

/** Options of SegmentsModule. */
export interface SegmentsModuleOptions extends SegmentOptions, GeneratorOptions {}

/** The options of SegmentsModule.forRoot(), and a name for the generator. */
export interface SegmentsScriptOptions extends SegmentsModuleOptions {
  /** Entities use this name: `@SnowflakeId({ generator: 'invoices' })`. Default: no name. */
  readonly name?: string | undefined;
}

/** For `useClass` and `useExisting` of forRootAsync. */
export interface SegmentsOptionsFactory {
  createSegmentsOptions(): SegmentsModuleOptions | Promise<SegmentsModuleOptions>;
}

const SEGMENTS: GeneratorOpener<SegmentOptions> = {
  example: "store: 'redis://host:6379?namespace=shop', counter: 'order'",
  async open(options, environment) {
    const faults: string[] = [];
    const opened: CounterStore[] = [];
    const openStore = async (given: unknown): Promise<unknown> => {
      if (typeof given !== 'string') return given;
      const store = await made(() => countersOf(given), faults);
      if (store !== undefined) opened.push(store);
      return store;
    };
    const given = givenStores(options);
    const stores = Array.isArray(given) ? await Promise.all(given.map(openStore)) : given;
    try {
      const terms = segmentTerms(options, stores as readonly CounterStore[], faults);
      return new SegmentKeeper(terms, environment);
    } catch (error) {
      await Promise.all(opened.map(closeQuietly));
      throw error;
    }
  },
};

/**
 * Registers an injectable IdMaker whose IDs are the dense numbers of a counter: 1, 2, 3 and so on.
 * It takes them from a store in segments, so a number costs a fraction of a snowflake ID. They rise
 * within a process; between processes, they rise segment by segment. A number may be lost, but is
 * never a duplicate. It works with or without SnowflakeModule.
 *
 * @example
 * ```ts
 * import { SegmentsModule } from 'nestjs-snowflake/segments';
 *
 * const imports = [
 *   SegmentsModule.forRoot({ store: 'redis://localhost:6379?namespace=shop', counter: 'order' }),
 * ];
 * ```
 */
@Module({})
export class SegmentsModule extends generatorModule(SEGMENTS, 'createSegmentsOptions') {}

/**
 * Generates numbers of a counter for a script, until `close()`, or until the end of the block with
 * `await using`. Closing returns the remaining numbers.
 *
 * @param options those of SegmentsModule
 * @throws SnowflakeError CONFIG_INVALID with every fault in the options; or the reason why no
 * number was available within `startTimeoutMs`. Nothing is left open then.
 * @example
 * ```ts
 * import { startSegments } from 'nestjs-snowflake/segments';
 *
 * await using segments = await startSegments({
 *   store: 'redis://localhost:6379?namespace=shop',
 *   counter: 'order',
 * });
 * segments.ids.nextIdNumber(); // 1
 * ```
 */
export function startSegments(options: SegmentsScriptOptions): Promise<RunningSnowflake> {
  return startGenerator(SEGMENTS, options);
}
