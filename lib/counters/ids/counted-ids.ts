/**
 * Ids made in a store, as a value of the option `generator`: whichever store it is. The keeper does
 * the work; this is its face for the module.
 */
import type { GeneratorKind } from '../../generator-kind.js';
import { CountedKeeper } from './counted-keeper.js';
import { countedTerms, type CountedOptions } from './counted-options.js';

/** The options are checked when the application starts, with its other options. */
export function countedIds(options: CountedOptions): GeneratorKind {
  return {
    kind: 'counted',
    open: (surroundings) => new CountedKeeper(countedTerms(options), surroundings),
  };
}
