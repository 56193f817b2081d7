/**
 * The broken variants of segments that the simulation must catch, as edits of the real sources.
 */
/** @import { Mutant } from './mutant.mjs' */

const ASKED = 'counters/counter-client.ts';
const STORE = 'counters/segments/numbered-store.ts';
const TURNS = 'counters/segments/numbered-store.ts';
const KEEPER = 'counters/segments/segment-keeper.ts';
const SPACE = 'counters/segments/numbered-store.ts';
const GENERATOR = 'counters/segments/segment-generator.ts';

/**
 * `seed` is one that shows it, where most do not.
 * @type {readonly (Mutant & { readonly storeCount?: number, readonly seed?: number })[]}
 */
export const SEGMENT_MUTANTS = [
  {
    name: 'a late answer is used although it lies below',
    edits: [{ file: ASKED, find: 'if (first < have)', put: 'if (first < 0n)' }],
  },
  {
    name: 'after a flush the counter begins right above the highest stored',
    edits: [{ file: STORE, find: ' + terms.lossGap', put: '' }],
  },
  {
    name: 'a stop gives back what was used',
    seed: 192,
    edits: [
      {
        file: TURNS,
        find: 'await segment.store.giveBack(segment, left);',
        put: 'await segment.store.giveBack(segment, segment.count + 0 * left);',
      },
    ],
  },
  {
    name: 'a stop gives back and goes on',
    edits: [
      { file: GENERATOR, find: '    this.queuedCount = 0;\n    this.closedTimes++;', put: '' },
      { file: GENERATOR, find: 'this.chain.splice(0).filter', put: 'this.chain.slice(0).filter' },
    ],
  },
  {
    name: 'what comes after the stop is used',
    edits: [
      { file: KEEPER, find: '      this.stores.giveBackWhole(segment);\n      return;', put: '' },
    ],
  },
  {
    name: 'the numbers of two stores overlap',
    storeCount: 2,
    edits: [{ file: SPACE, find: '(position - 1n) * this.step', put: '(position - 1n)' }],
  },
  {
    name: 'a new mark makes the rest of a run again',
    edits: [
      {
        file: GENERATOR,
        find: 'this.issuedBefore += this.madeCount;',
        put: `if (this.madeCount < this.runCount) this.shorten(-this.madeCount);
    this.issuedBefore += this.madeCount;`,
      },
    ],
  },
];
