/**
 * segments({...}): dense numbers of a counter, as a value of the option `generator`. The keeper
 * does the work; this is its face for the module.
 */
import type { GeneratorKind } from '../../generator-kind.js';
import { SegmentKeeper } from './segment-keeper.js';
import { segmentTerms, type SegmentOptions } from './segment-options.js';

/**
 * Ids that are the dense numbers of a counter, 1, 2, 3 and so on, taken from a store in segments:
 * behind the same IdMaker, at a fraction of the cost of a snowflake id. They rise within a process;
 * between processes segment by segment. A number is lost now and then and never given twice.
 *
 * The options are checked when the application starts, with its other options.
 *
 * @example
 * ```ts
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { redisCounters } from 'nestjs-snowflake/redis';
 * import { segments } from 'nestjs-snowflake/segments';
 *
 * const imports = [
 *   SnowflakeModule.forRoot({
 *     generator: segments({
 *       store: redisCounters({ redis: 'redis://localhost:6379', namespace: 'shop' }),
 *       counter: 'order',
 *     }),
 *   }),
 * ];
 * ```
 */
export function segments(options: SegmentOptions): GeneratorKind {
  return {
    kind: 'segments',
    open: (surroundings) => new SegmentKeeper(segmentTerms(options), surroundings),
  };
}
