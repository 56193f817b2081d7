/**
 * Broken variants of the rules of counters, by name. The simulation must detect those with a
 * `seed`, and the contract suite those with a case in `by`.
 */

/** @import { Mutant } from './load-library.mjs' */

const OPENING = 'counters/counter-rules.ts';
const TAKE = 'counters/counter-rules.ts';
const BACK = 'counters/counter-rules.ts';

const edit = (/** @type {string} */ file, /** @type {string} */ find, put = '') => [
  { file, find, put },
];

/**
 * `seed` shows the error in the simulation, and `by` is the contract case that rejects the variant.
 *
 * @type {readonly (Mutant & { seed?: number, by?: string })[]}
 */
export const COUNTER_MUTANTS = [
  {
    name: 'a change of servers is ignored',
    seed: 1,
    by: 'jumps over what may be lost when another server answers, and waits before it grants',
    edits: edit(OPENING, 'inNextEra({ ...observed, server })', '({ ...observed, server })'),
  },
  {
    name: 'what a client has proves nothing',
    by: 'takes an end that it does not remember for a proof that writes were lost',
    edits: edit(OPENING, 'have > row.next ? inNextEra(header) : header', 'header'),
  },
  {
    name: 'no jump after a loss',
    seed: 1,
    by: 'repeats nothing after an older copy was restored',
    edits: edit(TAKE, '(lossCount > 1 ? 2n * margin : margin)', 'margin * 0n'),
  },
  {
    name: 'any number of positions within a window',
    seed: 4,
    by: 'grants no more than half of the loss gap within one loss window',
    edits: edit(TAKE, 'lossWindowMs === 0 ? restCount', 'lossWindowMs >= 0 ? restCount'),
  },
  {
    name: 'a counter grants at once after a jump',
    seed: 2,
    by: 'jumps over what may be lost when another server answers, and waits before it grants',
    edits: edit(
      OPENING,
      'return { ...row, next, era: header.era, margin, readyAtMs,',
      'return { ...row, next, era: header.era, margin,',
    ),
  },
  {
    name: 'an absent counter begins anew',
    seed: 8,
    by: 'never creates a counter by itself',
    edits: edit(
      TAKE,
      'if (request.startAt === undefined) return undefined;\n' +
        '  return blankRow(formOf(request), request.startAt, era);',
      'return blankRow(formOf(request), request.startAt ?? 1n, era);',
    ),
  },
  {
    name: 'a clock goes on where it is after a loss',
    seed: 195,
    by: 'is clear of all that an old server may still grant when another one answers',
    edits: edit(
      TAKE,
      'positionAt(settled.readyAtMs + Number(settled.margin) + behindMs)',
      'positionAt(nowMs)',
    ),
  },
  {
    name: 'the clock goes back with that of the server',
    by: 'is clear of all grants before its clock was set back, whoever asks after a loss',
    edits: edit(
      OPENING,
      'const observed = { ...stored, ...clock(stored, timeMs) };',
      'const observed = { ...stored, ...clock({ ...stored, lastTimeMs: 0 }, timeMs), slewMs: 0 };',
    ),
  },
  {
    name: 'more is given back than was granted',
    by: 'takes back no more than was granted, and nothing of a grant that it does not know',
    edits: edit(BACK, ' || unused > row.next - first', ''),
  },
  {
    name: 'no end of the numbers',
    by: 'counts to 2^63 - 1 and no further',
    edits: [
      ...edit(TAKE, "if (restCount <= 0n) return { answer: { status: 'full' } };"),
      ...edit(TAKE, 'least(request.count, restCount, windowLeft)', 'request.count'),
    ],
  },
  {
    name: 'a grant that is answered and not stored',
    seed: 1,
    by: 'continues where the last range ended, from the first position on',
    edits: edit(TAKE, 'row: { ...row, next: end, grant }', 'row: { ...row, grant }'),
  },
];
const PREFETCHED = 'counters/ids/id-queue.ts';
const RUN = 'counters/ids/store-ids-options.ts';

/** @type {readonly (Mutant & { readonly storeCount?: number })[]} */
export const ID_MUTANTS = [
  {
    name: 'two stores have the same sequences',
    storeCount: 2,
    edits: [{ file: RUN, find: 'space.storeCount + space.place - 1', put: 'space.storeCount' }],
  },
  {
    name: 'what is buffered never grows old',
    edits: [
      {
        file: PREFETCHED,
        find: 'return ageMs < 0 || ageMs > this.parts.prefetch!.staleMs;',
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
];

// The broken variants of segments that the simulation must catch, as edits of the real sources.

const ASKED = 'counters/counter-client.ts';
const STORE = 'counters/segments/numbered-store.ts';
const SPACE = 'counters/segments/numbered-store.ts';

/**
 * `seed` shows the error, if most seeds do not.
 * @type {readonly (Mutant & { readonly storeCount?: number, readonly seed?: number })[]}
 */
export const SEGMENT_MUTANTS = [
  {
    name: 'a late answer is used although it lies below',
    edits: [{ file: ASKED, find: 'if (first < have)', put: 'if (first < 0n)' }],
  },
  {
    name: 'after a flush the counter begins right above the highest stored',
    edits: [{ file: STORE, find: ' + this.terms.lossGap', put: '' }],
  },
  {
    name: 'the numbers of two stores overlap',
    storeCount: 2,
    edits: [{ file: SPACE, find: '(position - 1n) * this.step', put: '(position - 1n)' }],
  },
];
