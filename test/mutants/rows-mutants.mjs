/**
 * Broken variants of the registry over rows, as edits of what lies between the rules and a store.
 * The concurrent walk must notice each.
 */
/** @import { Mutant } from './mutant.mjs' */

const SUPPORT = 'registry/registry-support.ts';
const SLICE = 'registry/stored-snapshot.ts';

/** `seed` is one that shows it. @type {readonly (Mutant & { seed: number })[]} */
export const ROWS_MUTANTS = [
  {
    name: 'a write that was refused counts as done',
    seed: 1,
    edits: [
      {
        file: SUPPORT,
        find: '(await this.#isTaken(write, step.slots, tries))',
        put: '(await this.#isTaken(write, step.slots, tries), true)',
      },
    ],
  },
  {
    name: 'a row that was deleted is one that was never used',
    seed: 2,
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
    seed: 95,
    edits: [
      {
        file: SLICE,
        find: 'if (agedMs >= 0 && agedMs < HEADER_AGE_MS)',
        put: 'if (agedMs >= 0)',
      },
    ],
  },
];

const LATEST = 'rows/cas-retry.ts';

/**
 * Of what is asked again; `by` names the property of test/registry/fleets.spec.ts that
 * must notice.
 *
 * @type {readonly (Mutant & { by: string })[]}
 */
export const REPEATED_MUTANTS = [
  ...[
    'gets its worker id where each step of the store takes longer than a call may',
    'is one of a herd that all get theirs',
  ].map((by) => ({
    name: `what is on its way is dropped when it is asked for again (${by})`,
    by,
    edits: [
      {
        file: SUPPORT,
        find: 'if (onItsWay !== undefined)',
        put: 'if (onItsWay === null)',
      },
    ],
  })),
  {
    name: 'the time of the first question is the answer to the second',
    by: 'is not told a time that was read before it asked',
    edits: [{ file: SUPPORT, find: 'withoutTime(await onItsWay)', put: 'await onItsWay' }],
  },
  {
    name: 'another question gets the same answer',
    by: 'gets an answer of its own where it asks something else',
    edits: [
      { file: LATEST, find: 'theirs === JSON.stringify(question)', put: 'theirs !== undefined' },
    ],
  },
  {
    name: 'what never comes is waited for without end',
    by: 'does not wait for ever for a store that answers nothing',
    edits: [{ file: LATEST, find: 'own.question = undefined', put: 'own.question' }],
  },
];
