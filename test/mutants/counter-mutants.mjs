/**
 * Broken variants of the rules of counters, by name. The simulation must notice those with a seed
 * that shows them; the contract suite those that name a case.
 */

/** @import { Mutant } from './load-library.mjs' */

const OPENING = 'counters/counter-rules.ts';
const TAKE = 'counters/counter-rules.ts';
const BACK = 'counters/counter-rules.ts';
const CREATE = 'counters/counter-rules.ts';

const edit = (/** @type {string} */ file, /** @type {string} */ find, put = '') => [
  { file, find, put },
];

/**
 * `seed` is one that shows it in the simulation, `by` the case that rejects it.
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
    name: 'what a client has is ignored by the jump',
    by: 'takes an end that it does not remember for a proof that writes were lost',
    edits: edit(OPENING, 'terms.have > row.next ? terms.have : row.next', 'row.next'),
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
    name: 'a whole loss gap within a window',
    seed: 80,
    by: 'grants no more than half of the loss gap within one loss window',
    edits: edit(TAKE, 'row.margin / 2n - usedCount', 'row.margin - usedCount'),
  },
  {
    name: 'a window that does not count',
    seed: 4,
    by: 'grants no more than half of the loss gap within one loss window',
    edits: edit(TAKE, 'windowCount: usedCount + count', 'windowCount: 0n'),
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
    name: 'a jump forgets a larger loss gap',
    seed: 11,
    by: 'jumps with the largest loss gap that it was ever asked with',
    edits: edit(OPENING, 'isRaised ? terms.margin : row.margin', 'terms.margin'),
  },
  {
    name: 'a larger loss gap is used at once',
    seed: 266,
    by: 'grants nothing by a larger loss gap before it can no longer be lost',
    edits: edit(
      OPENING,
      'if (!isBehind) return { ...row, margin, readyAtMs };',
      'if (!isBehind) return { ...row, margin };',
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
    name: 'a created counter grants at once',
    by: 'grants nothing of a new counter before it can no longer be lost',
    edits: [
      ...edit(CREATE, 'nowOf(header) + reading.lossWindowMs', 'nowOf(header)'),
      ...edit(OPENING, 'nowOf(header) + terms.lossWindowMs', 'nowOf(header)'),
    ],
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
    name: 'a clock leaves out the loss window after a loss',
    seed: 174,
    by: 'is clear of all that an old server may still grant when another one answers',
    edits: edit(TAKE, 'settled.readyAtMs + Number', 'settled.readyAtMs - lossWindowMs + Number'),
  },
  {
    name: 'a clock that was set back beside a loss is believed',
    seed: 1623,
    by: 'is clear of all that was granted although its clock was set back beside a loss',
    edits: edit(TAKE, 'Math.max(0, reckonedMs - nowMs)', '0'),
  },
  {
    name: 'only the first who asks shows that a clock was set back',
    by: 'is clear of all that was granted although its clock was set back beside a loss',
    edits: edit(TAKE, "settled.grant !== ''", 'stored.era === header.era'),
  },
  {
    name: 'a clock is believed to be behind whatever it has granted since',
    by: 'follows its own clock, whatever a caller reckons with, unless it has lost something',
    edits: edit(TAKE, "settled.grant !== '' ||", ''),
  },
  {
    name: 'the ceiling of a clock is floor + ahead',
    seed: 6,
    by: 'grants positions of the clock, no further ahead of it than asked',
    edits: edit(
      TAKE,
      'const ceiling = positionAt(nowMs + aheadMs);',
      'const ceiling = greatest(row.next, positionAt(nowMs)) + positionAt(aheadMs);',
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
    name: 'what is given back is known by its end',
    seed: 2,
    by: 'takes nothing back twice, also where another range ends at the same position by now',
    edits: edit(BACK, 'row.grant === text', "row.grant !== ''"),
  },
  {
    name: 'a range is given back after a loss',
    by: 'takes nothing back after a loss, before and after the counter has jumped',
    edits: edit(BACK, ' && row.era === header.era', ''),
  },
  {
    name: 'more is given back than was granted',
    by: 'takes back no more than was granted, and nothing of a grant that it does not know',
    edits: edit(BACK, ' || unused > row.next - first', ''),
  },
  {
    name: 'another store of several is not noticed',
    by: 'refuses another store of several, and another kind, and says which it is',
    edits: edit(TAKE, 'if (form !== formOf(request))', 'if (form.length < 3)'),
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
    by: 'goes on where the last range ended, from the first position on',
    edits: edit(TAKE, 'row: { ...row, next: end, grant }', 'row: { ...row, grant }'),
  },
  {
    name: 'what another server granted meanwhile is not heard of',
    by: 'jumps beyond the jump of a server that took over meanwhile, once somebody knows of it',
    edits: edit(OPENING, 'if (era > header.era)', 'if (era < 0)'),
  },
  {
    name: 'a jump lands where another server may have landed',
    by: 'jumps beyond the jump of a server that took over meanwhile, once somebody knows of it',
    edits: edit(TAKE, 'next + (lossCount > 1 ? 2n * margin : margin)', 'next + margin'),
  },
];

// The broken variants of ids made in a store that the simulation must catch, as edits of the real
// sources.

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
  {
    name: 'what comes after the stop is taken in',
    edits: [
      {
        file: PREFETCHED,
        find: 'this.isClosed = true;\n    this.stock.length = 0;',
        put: 'this.stock.length = 0;',
      },
      { file: KEEPER, find: '    this.queue.refuseAll(reason);\n', put: '' },
      { file: KEEPER, find: 'if (!this.stopping.signal.aborted) this.queue', put: 'this.queue' },
    ],
  },
];

// The broken variants of segments that the simulation must catch, as edits of the real sources.

const ASKED = 'counters/counter-client.ts';
const STORE = 'counters/segments/numbered-store.ts';
const SEGMENTS = 'counters/segments/segment-keeper.ts';
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
    edits: [{ file: STORE, find: ' + this.terms.lossGap', put: '' }],
  },
  {
    name: 'a stop gives back what was used',
    seed: 192,
    edits: [
      {
        file: SEGMENTS,
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
      {
        file: SEGMENTS,
        find:
          '        this.returning = segment.store.giveBack(segment, segment.count);\n' +
          '        return;',
        put: '',
      },
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
