/**
 * Broken variants of the rules of locks, by name. The contract suite must reject those with a case,
 * and the simulation must detect those with a `seed`.
 */

/** @import { Mutant } from './load-library.mjs' */

const OPENING = 'lock/lock-rules.ts';
const ACQUIRE = 'lock/lock-rules.ts';
const RELEASE = 'lock/lock-rules.ts';
const TOKEN = 'lock/lock-snapshot.ts';
const ATTEMPT = 'lock/lock-attempt.ts';
const SECTION = 'lock/held-section.ts';
const QUEUE = 'lock/local-queue.ts';
const OPTIONS = 'lock/lock-options.ts';

const edit = (/** @type {string} */ file, /** @type {string} */ find, put = '') => [
  { file, find, put },
];

/** @type {readonly (Mutant & { by: string, seed?: number })[]} */
export const LOCK_MUTANTS = [
  {
    name: 'a lock that is held is granted',
    seed: 1,
    by: 'grants a lock to one, and tells others by whom it is held',
    edits: edit(
      ACQUIRE,
      'row.untilMs > nowMs ? row : undefined',
      'row.untilMs < 0 ? row : undefined',
    ),
  },
  {
    name: 'tokens are counted alone',
    seed: 1,
    by: 'grants no lock twice after an older copy was restored',
    edits: [
      ...edit(TOKEN, 'known >= first ? known + 1n : first', 'known + 1n'),
      ...edit(ACQUIRE, 'greatest(row?.token ?? 0n, header.forgottenTo)', 'row?.token ?? 0n'),
    ],
  },
  {
    name: 'tokens begin anew after an order that brought the clock back',
    by: 'repeats no token after such an order, although it has forgotten the lock',
    edits: edit(ACQUIRE, 'greatest(row?.token ?? 0n, header.forgottenTo)', 'row?.token ?? 0n'),
  },
  {
    name: 'an order that brings the clock back is no loss',
    by: 'comes back to the clock of the store by an order, which counts as a loss of data',
    edits: edit(
      ACQUIRE,
      'backMs > 0 ? recordLoss(back, reading) : moved',
      'backMs > 0 ? back : moved',
    ),
  },
  {
    name: 'tokens are times alone',
    by: 'grants a released lock at once, with a higher token',
    edits: edit(TOKEN, 'known >= first ? known + 1n : first', 'first'),
  },
  {
    name: 'anybody extends',
    seed: 1,
    by: 'extends for the holder alone',
    edits: edit(ACQUIRE, 'row.holder === holder && row.era', 'row.era'),
  },
  {
    name: 'anybody releases',
    seed: 7,
    by: 'releases for the holder alone',
    edits: edit(RELEASE, 'row.holder === holder && row.token', 'row.token'),
  },
  {
    name: 'an absent store is a new one',
    seed: 11,
    by: 'grants nothing after everything was lost, until what was forgotten has ended',
    edits: edit(
      OPENING,
      'observeEra(recordLoss(created, reading), era, reading)',
      'observeEra(created, era, reading)',
    ),
  },
  {
    name: 'a change of servers is ignored',
    seed: 5,
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: edit(OPENING, 'recordLoss({ ...moved, server }, reading)', '{ ...moved, server }'),
  },
  {
    name: 'the loss window is left out of the wait',
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: edit(OPENING, 'nowMs + header.longestMs + lossWindowMs)', 'nowMs + header.longestMs)'),
  },
  {
    name: 'what somebody has proves nothing',
    by: 'takes a token that it does not remember for a proof that writes were lost',
    edits: edit(OPENING, 'if (!isMissing ||', 'if (isMissing ||'),
  },
  {
    name: 'the clock follows every step of its store forward',
    seed: 3,
    by: 'ends no lock by a step forward that the clock of a known caller contradicts',
    edits: edit(OPENING, 'return aheadMs > STEP_MS ? ', 'return aheadMs > Infinity ? '),
  },
  {
    name: 'a new caller has no clock',
    by: 'ends no lock by a step beyond any lock that the wall clock of a new caller contradicts',
    edits: edit(OPENING, '(fits ? wallMs : nowMs)', 'nowMs'),
  },
  {
    // In the simulation, earlier lock holders compensate for it.
    name: 'the clock goes back with that of the server',
    by: 'frees nothing and repeats no token although its clock goes back, again and again',
    edits: edit(OPENING, '...clock(stored, timeMs) };', 'lastTimeMs: timeMs };'),
  },
];

/**
 * Variants of a lock's holder. The simulation must detect each.
 *
 * @type {readonly (Mutant & { seed: number })[]}
 */
export const HOLDER_MUTANTS = [
  {
    name: 'the deadline counts from the answer',
    seed: 11,
    edits: edit(
      ATTEMPT,
      'return { permit, holder, passed, answer };',
      'return { permit, holder, passed: started(calls.terms), answer };',
    ),
  },
  {
    name: 'there is no deadline but that of the store',
    seed: 1,
    edits: edit(
      SECTION,
      'return Math.max(0, Math.floor(Math.min(ttlMs - passed(), this.#allowedMs)));',
      'return ttlMs + 0 * passed();',
    ),
  },
  {
    name: 'all attempts of all processes have one name',
    seed: 1,
    edits: edit(ATTEMPT, '#holder = randomUUID();', "#holder = 'process';"),
  },
];

/**
 * Variants of permits, and of several locks at once. The named case must detect each.
 *
 * @type {readonly (Mutant & { by: string })[]}
 */
export const PERMIT_MUTANTS = [
  {
    name: 'one permit more is granted than there are',
    by: 'have as many holders at once, in all processes, and no more',
    edits: edit(QUEUE, 'const { permits } = this;', 'const permits = this.permits + 1;'),
  },
  {
    name: 'callers of one process ask for the same permit',
    by: 'go to the callers of a process in order, without useless requests',
    edits: edit(QUEUE, 'this.permit !== undefined && taken.has(this.permit)', 'false'),
  },
  {
    name: 'several locks are taken in the order in which they are given',
    by: 'are taken in the same order by all callers, so that no two block each other',
    edits: edit(OPTIONS, 'names.toSorted((a, b) => (a < b ? -1 : 1))', 'names'),
  },
];
