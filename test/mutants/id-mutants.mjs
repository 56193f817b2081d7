/**
 * The broken variants of ids made in a store that the simulation must catch, as edits of the real
 * sources.
 */
/** @import { Mutant } from './mutant.mjs' */

const KEEPER = 'counters/ids/store-ids.ts';
const PREFETCHED = 'counters/ids/id-queue.ts';
const QUEUE = 'counters/ids/id-queue.ts';
const RUN = 'counters/ids/store-ids-options.ts';

/** @type {readonly (Mutant & { readonly storeCount?: number })[]} */
export const ID_MUTANTS = [
  {
    name: 'the rest of a run begins where the run began',
    edits: [{ file: RUN, find: '    this.number = (this.number + count) % perMs;\n', put: '' }],
  },
  {
    name: 'two stores have the same sequences',
    storeCount: 2,
    edits: [{ file: RUN, find: 'space.storeCount + space.place - 1', put: 'space.storeCount' }],
  },
  {
    name: 'the stores of a registry are not told apart by their sequences',
    storeCount: 2,
    edits: [{ file: RUN, find: 'this.number * space.storeCount', put: 'this.number' }],
  },
  {
    name: 'whoever came after a call was sent is served by it',
    edits: [{ file: QUEUE, find: '|| number > lastNumber', put: '' }],
  },
  {
    name: 'what is buffered never grows old',
    edits: [
      {
        file: PREFETCHED,
        find: 'return ageMs < 0 || ageMs > this.parts.prefetch.staleMs;',
        put: 'return ageMs < -1e9;',
      },
    ],
  },
  {
    name: 'buffered ids are given after the stop',
    edits: [
      {
        file: PREFETCHED,
        find: '    this.isClosed = true;\n    this.stock.length = 0;',
        put: '    this.isClosed = true;',
      },
    ],
  },
  {
    name: 'what comes after the stop is taken in',
    edits: [
      {
        file: PREFETCHED,
        find: 'this.isClosed = true;\n    this.stock.length = 0;',
        put: 'this.stock.length = 0;',
      },
      { file: KEEPER, find: '    this.queue.refuseAll(reason);\n', put: '' },
      {
        file: KEEPER,
        find: '    if (this.stopping.signal.aborted) return;\n    this.hasTaken = true;',
        put: '    this.hasTaken = true;',
      },
    ],
  },
];
