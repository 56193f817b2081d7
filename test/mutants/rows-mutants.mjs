/**
 * Broken variants of the registry over rows, as edits of what lies between the rules and a store.
 * The concurrent walk must notice each.
 */
/** @import { Mutant } from './mutants.mjs' */

const SUPPORT = 'registry/registry-support.ts';
const SLICE = 'registry/stored-slice.ts';

/** `seed` is one that shows it. @type {readonly (Mutant & { seed: number })[]} */
export const ROWS_MUTANTS = [
  {
    name: 'a write that was refused counts as done',
    seed: 1,
    edits: [
      {
        file: SUPPORT,
        find: "(await this.#store.write(write)) ? 'yes' : 'no'",
        put: "(await this.#store.write(write), true) ? 'yes' : 'no'",
      },
    ],
  },
  {
    name: 'a row that was deleted is one that was never used',
    seed: 1,
    edits: [
      {
        file: SLICE,
        find: 'if (block === undefined) return undefined;',
        put: 'return undefined;',
      },
    ],
  },
  {
    name: 'the clock of the header is written only once',
    seed: 9,
    edits: [
      {
        file: SLICE,
        find: 'if (agedMs >= 0 && agedMs < HEADER_AGE_MS)',
        put: 'if (agedMs >= 0)',
      },
    ],
  },
];
