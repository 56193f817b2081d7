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
    edits: [
      {
        file: SUPPORT,
        find: 'return write === undefined || this.#store.write(write);',
        put: 'return write === undefined || this.#store.write(write).then(() => true);',
      },
    ],
  },
  {
    name: 'a row that was deleted is one that was never used',
    edits: [
      {
        file: SLICE,
        find: 'if (block === undefined || next === undefined) return undefined;',
        put: 'return undefined;',
      },
    ],
  },
  {
    name: 'a loss is not written into the header',
    edits: [
      {
        file: SLICE,
        find: 'const { lastTimeMs: _, slewMs: __, operations: ___, ...facts } = stored;',
        put: 'const { version } = stored;\n  const facts = { version };',
      },
    ],
  },
  {
    name: 'the clock of the header is written only once',
    edits: [
      { file: SLICE, find: 'if (agedMs < 0 || agedMs >= HEADER_AGE_MS) return true;', put: '' },
    ],
  },
];
