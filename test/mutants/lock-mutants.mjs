/**
 * Broken variants of the rules of locks, by name. The contract suite must reject those that name a
 * case; the simulation must notice those with a seed that shows them.
 */

/** @import { Mutant } from './load-library.mjs' */

const OPENING = 'lock/lock-rules.ts';
const ACQUIRE = 'lock/lock-rules.ts';
const EXTEND = 'lock/lock-rules.ts';
const RELEASE = 'lock/lock-rules.ts';
const TOKEN = 'lock/lock-snapshot.ts';
const ATTEMPT = 'lock/lock-attempt.ts';
const SECTION = 'lock/held-section.ts';
const QUEUE = 'lock/local-queue.ts';
const OPTIONS = 'lock/lock-options.ts';
const STOPWATCH = 'core/clock.ts';
const HOLDINGS = 'lock/holdings.ts';

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
    name: 'a lock is held for one millisecond too long',
    by: 'frees a lock when its time is over, to the millisecond, with a higher token',
    edits: edit(ACQUIRE, 'row.untilMs > nowMs ? row', 'row.untilMs >= nowMs ? row'),
  },
  {
    name: 'tokens are counted alone',
    seed: 1,
    by: 'grants no lock twice after an older copy was restored',
    edits: edit(TOKEN, 'known >= first ? known + 1n : first', 'known + 1n'),
  },
  {
    name: 'tokens are times alone',
    by: 'grants a released lock at once, with a higher token',
    edits: edit(TOKEN, 'known >= first ? known + 1n : first', 'first'),
  },
  {
    name: 'the token ignores what somebody has',
    by: 'grants a token that is higher than one that somebody has',
    edits: edit(TOKEN, 'have > lastToken ? have : lastToken', 'lastToken'),
  },
  {
    name: 'a note is lost with the next grant',
    by: 'hands on the note of a holder, and takes none from another caller',
    edits: edit(ACQUIRE, 'row?.note === undefined ? {} : { note: row.note }', '{}'),
  },
  {
    name: 'a note is not told to the next holder',
    by: 'hands on the note of a holder, and takes none from another caller',
    edits: edit(ACQUIRE, 'note === undefined ? {} : { note };', '{};'),
  },
  {
    name: 'a note is not written',
    by: 'hands on the note of a holder, and takes none from another caller',
    edits: edit(EXTEND, '...(note !== undefined && { note })'),
  },
  {
    name: 'a note is forgotten with its lock',
    by: 'keeps a note for a year, whatever else is forgotten meanwhile',
    edits: edit(TOKEN, 'note === undefined ? KEPT_MS : NOTE_KEPT_MS', 'KEPT_MS'),
  },
  {
    name: 'an attempt that asks again is somebody else',
    by: 'answers an attempt that asks again with the same token',
    edits: edit(ACQUIRE, 'row.holder === holder && row.era', "row.holder === '' && row.era"),
  },
  {
    name: 'anybody extends',
    seed: 1,
    by: 'extends for the holder alone',
    edits: edit(ACQUIRE, 'row.holder === holder && row.era', 'row.era'),
  },
  {
    name: 'an old token extends',
    by: 'extends for the holder alone',
    edits: edit(EXTEND, 'row.token === token && ', ''),
  },
  {
    name: 'an extension shortens',
    by: 'extends from now on, and never shortens',
    edits: edit(EXTEND, 'Math.max(row.untilMs, nowOf(header) + (', '(nowOf(header) + ('),
  },
  {
    name: 'an extension is not stored',
    seed: 2,
    by: 'extends from now on, and never shortens',
    edits: edit(EXTEND, 'row: { ...row, untilMs, ', 'row: { ...row, '),
  },
  {
    name: 'what has ended is extended',
    by: 'holds nothing again whose time is over',
    edits: edit(ACQUIRE, ' && row.untilMs > nowOf(header)', ''),
  },
  {
    name: 'anybody releases',
    seed: 7,
    by: 'releases for the holder alone',
    edits: edit(RELEASE, 'row.holder === holder && row.token', 'row.token'),
  },
  {
    name: 'a release looks at no token',
    by: 'releases for the holder alone',
    edits: edit(RELEASE, ' && row.token === (token ?? row.token)', ''),
  },
  {
    name: 'a release forgets the token',
    by: 'grants a released lock at once, with a higher token',
    edits: edit(
      RELEASE,
      "{ ...row, holder: '', untilMs }",
      "{ ...row, token: 1n, holder: '', untilMs }",
    ),
  },
  {
    name: 'nothing is kept from others',
    by: 'keeps a released lock from others for as long as was asked',
    edits: edit(RELEASE, 'nowOf(header) + keepMs', 'nowOf(header)'),
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
    name: 'a lock of before a loss is extended',
    by: 'tells a holder that its lock is lost when another server answers',
    edits: edit(ACQUIRE, ' && row.era === header.era && row', ' && row'),
  },
  {
    name: 'the loss window is left out of the wait',
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: edit(OPENING, 'nowMs + header.longestMs + lossWindowMs)', 'nowMs + header.longestMs)'),
  },
  {
    name: 'the longest time is that of who asks',
    by: 'waits for the longest time that anybody may hold a lock, not for that of who asks',
    edits: edit(
      OPENING,
      'if (longerMs <= 0) return header;',
      'if (longerMs <= 0) return { ...header, longestMs };',
    ),
  },
  {
    name: 'a longer time is learnt too late',
    by: 'waits longer where it learns later that a lock may have been held for longer',
    edits: edit(OPENING, 'isWaiting ? longerMs : 0', '0'),
  },
  {
    name: 'a longer time is granted before its record is safe',
    by: 'grants nothing for a longer time than before until the record of it cannot be lost',
    edits: edit(OPENING, 'provenAtMs: nowMs + lossWindowMs', 'provenAtMs: nowMs'),
  },
  {
    name: 'what somebody has proves nothing',
    by: 'takes a token that it does not remember for a proof that writes were lost',
    edits: edit(OPENING, 'if (!isMissing ||', 'if (isMissing ||'),
  },
  {
    name: 'a lock without a row was never held',
    by: 'takes a young token of a lock that it does not know for such a proof',
    edits: edit(
      OPENING,
      'row === undefined ? timeOf(have) + KEPT_MS > nowOf(header)',
      'row === undefined ? false',
    ),
  },
  {
    name: 'an old token of a lock that was forgotten proves a loss',
    by: 'rises although it may have forgotten the last token, and notices no loss',
    edits: edit(OPENING, 'timeOf(have) + KEPT_MS > nowOf(header)', 'have > 0n'),
  },
  {
    name: 'the same proof counts again and again',
    by: 'takes a token that it does not remember for a proof that writes were lost',
    edits: edit(
      OPENING,
      'if (!isMissing || have <= header.forgottenTo) return',
      'if (!isMissing) return',
    ),
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
    name: 'what somebody was granted by a store ahead of this one proves nothing',
    by: 'learns from survivors how far ahead of its clock a store was that was lost',
    edits: edit(OPENING, 'if (timeOf(highest) <= nowOf(header)', 'if (0 <= nowOf(header)'),
  },
  {
    name: 'what was granted since somebody asked is not reckoned with',
    by: 'learns from survivors how far ahead of its clock a store was that was lost',
    edits: edit(OPENING, ', clocks?.nowMs ?? 0) - nowOf', ') - nowOf'),
  },
  {
    name: 'what a survivor tells moves the clock and loses nothing',
    by: 'begins no lower than the first who asks knows, nor lets a holder keep what began lower',
    edits: edit(OPENING, 'moved === header ? header : recordLoss(moved, reading)', 'moved'),
  },
  {
    name: 'a store that begins again knows nothing of the one that was lost',
    by: 'begins no lower than the first who asks knows, nor lets a holder keep what began lower',
    edits: edit(
      OPENING,
      'moveClock(newHeader(longestMs, reading), request)',
      'newHeader(longestMs, reading)',
    ),
  },
  {
    // In the simulation those who were granted locks before make good for it.
    name: 'the clock goes back with that of the server',
    by: 'frees nothing and repeats no token although its clock goes back, again and again',
    edits: edit(OPENING, '...clock(stored, timeMs) };', 'lastTimeMs: timeMs };'),
  },
  {
    name: 'a lock is forgotten while it is kept',
    by: 'keeps a released lock from others for as long as was asked, also after a restart',
    edits: edit(
      ACQUIRE,
      'if (others !== undefined) {',
      "if (others !== undefined && others.holder !== '') {",
    ),
  },
];

/**
 * Of whoever holds a lock. The simulation must notice each.
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
    name: 'an extension counts from its answer',
    seed: 38,
    edits: edit(
      SECTION,
      'if (ttlMs - passed() <= this.leftMs) return;\n    this.#deadline = { ttlMs, passed };',
      'this.#deadline = { ttlMs, passed: started(this.#parts.calls.terms) };',
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
    name: 'an extension that fails counts as one that was granted',
    seed: 3,
    edits: edit(
      SECTION,
      'if (this.#isOver || this.#isAbandoned) return;',
      'if (!isAnswered) this.#deadline = { ttlMs: hold.ttlMs, passed };\n' +
        '    if (this.#isOver || this.#isAbandoned) return;',
    ),
  },
  {
    name: 'the wall clock alone tells how much time went by',
    seed: 12,
    edits: edit(STOPWATCH, 'monotonic.now() - monotonicMs, 0', '0 * monotonicMs'),
  },
  {
    name: 'the monotonic clock alone tells how much time went by',
    seed: 2,
    edits: edit(STOPWATCH, 'Math.max(clock.now() - wallMs, ', 'Math.max(0 * wallMs, '),
  },
  {
    name: 'all attempts of all processes have one name',
    seed: 1,
    edits: edit(ATTEMPT, '#holder = randomUUID();', "#holder = 'process';"),
  },
];

/**
 * Of permits, and of several locks at once. The case that is named must notice each.
 *
 * @type {readonly (Mutant & { by: string })[]}
 */
export const PERMIT_MUTANTS = [
  {
    name: 'one permit more is granted than there are',
    by: 'are held by as many at once, of all processes, and by no more',
    edits: edit(QUEUE, 'const { permits } = this;', 'const permits = this.permits + 1;'),
  },
  {
    name: 'an attempt goes on to another permit while it may have one',
    by: 'are kept by no attempt whose answer was lost, and none has two',
    edits: edit(
      ATTEMPT,
      'const failure = unavailable(lock, error);',
      'const failure = unavailable(lock, error);\n' +
        "      place.refused({ status: 'held', label: '', leftMs: 1 });",
    ),
  },
  {
    name: 'an attempt that ends forgets that it may have one',
    by: 'are given back by an attempt that ends without knowing whether it has one',
    edits: edit(ATTEMPT, 'if (this.#isUnsure) this.#giveUp();'),
  },
  {
    name: 'an attempt that ends gives back the first permit, and not its own',
    by: 'are given back by an attempt that ends without knowing whether it has one',
    edits: edit(ATTEMPT, 'lock: permitName(lock, place.permit!)', 'lock'),
  },
  {
    name: 'callers of one process ask for the same permit',
    by: 'go through the callers of a process as they came, and nobody asks in vain',
    edits: edit(QUEUE, 'this.permit !== undefined && taken.has(this.permit)', 'false'),
  },
  {
    name: 'a permit is released by the name of the lock',
    by: 'are held by as many at once, of all processes, and by no more',
    edits: edit(
      SECTION,
      'const request = { lock: this.#name,',
      'const request = { lock: this.lock,',
    ),
  },
  {
    name: 'nobody who waits for a permit is told of one that is released here',
    by: 'go to whoever of a process has waited longest, also where another process has the rest',
    edits: edit(QUEUE, 'if (place.hand(permit)) return;', 'if (!place) return;'),
  },
  {
    name: 'a process hands its permits on for ever',
    by: 'are left to other processes by one that has had them for long',
    edits: edit(QUEUE, 'isWaitedFor ? this.othersMs(lock) : 0', 'isWaitedFor ? 0 : 0'),
  },
  {
    name: 'several locks are taken in the order in which they are given',
    by: 'are taken in one order by all, so that nobody waits for each other',
    edits: edit(OPTIONS, 'names.toSorted((a, b) => (a < b ? -1 : 1))', 'names'),
  },
  {
    name: 'those taken before one that is refused are kept',
    by: 'are given back where one of them is refused',
    edits: edit(
      HOLDINGS,
      'await Promise.all(sections.map((section) => section.release()));\n      throw error;',
      'throw error;',
    ),
  },
  {
    name: 'each of several locks is waited for as long as all',
    by: 'are waited for together, no longer than they may',
    edits: edit(
      HOLDINGS,
      'const waitMs = Math.max(0, Math.ceil(hold.waitMs - waited()));',
      'const waitMs = hold.waitMs + 0 * waited();',
    ),
  },
  {
    name: 'several locks are held as long as one of them',
    by: 'are lost with the first of them',
    edits: edit(SECTION, 'Math.min(...this.sections.map', 'Math.max(...this.sections.map'),
  },
];
