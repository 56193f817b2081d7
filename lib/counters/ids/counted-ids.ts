/**
 * Ids made in a store, as a value of the option `generator`: whichever store it is. The keeper does
 * the work; this is its face for the module.
 */
import type { GeneratorKind, OpenGenerator } from '../../generator-kind.js';
import { CountedKeeper } from './counted-keeper.js';
import { countedTerms, type CountedOptions } from './counted-options.js';

/** The options are checked when the application starts, with its other options. */
export function countedIds(options: CountedOptions): GeneratorKind {
  return {
    kind: 'counted',
    open: (surroundings): OpenGenerator => {
      const terms = countedTerms(options);
      const keeper = new CountedKeeper(terms, surroundings);
      return {
        source: keeper.source,
        line: keeper,
        layout: terms.layout,
        nature: 'are made in a store without a worker id',
        place: keeper.place,
        get status() {
          return keeper.status;
        },
        listen: (listener) => keeper.listen(listener),
        start: () => keeper.start(),
        refresh: () => keeper.refresh(),
        stop: () => keeper.stop(),
        advice: () => keeper.advice(),
      };
    },
  };
}
