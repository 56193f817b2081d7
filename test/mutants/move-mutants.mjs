/**
 * Broken variants of what changes while a fleet runs: moves between layouts and between stores, and
 * a store that may forget its last writes. Each with the scenario of the simulation that notices.
 */

/** @import { Mutant } from './load-library.mjs' */

const OPENING = 'registry/prologue.ts';
const ACQUIRE = 'registry/acquire.ts';
const RENEW = 'registry/renew.ts';
const MOVE = 'registry/layout-move.ts';
const LAYOUT_MOVE = 'cli/store/layout-move-plan.ts';
const STORE_MOVE = 'cli/store/store-move-plan.ts';
const youngRange = 'if (storedMs < nowMs + terms.minRangeMs) {';
const atOnce = `return grantLease(header, slot);\n  ${youngRange}`;

/** @type {readonly (Mutant & { readonly scenario: string, readonly seed: number })[]} */
export const MOVE_MUTANTS = [
  {
    name: 'a range begins below what was granted before a move',
    scenario: 'layout move',
    seed: 1,
    edits: [
      {
        file: OPENING,
        find: 'return Math.max(safeFloorMs, layoutFloorMs);',
        put: 'return safeFloorMs;',
      },
    ],
  },
  {
    name: 'a worker id that is for another layout now is prolonged',
    scenario: 'layout move',
    seed: 13,
    edits: [
      {
        file: RENEW,
        find: 'if (isElsewhere(header, lease)) return movedAway(header, slot);',
        put: '',
      },
    ],
  },
  {
    name: 'a range runs across a move that its holder missed',
    scenario: 'layout move',
    seed: 221,
    edits: [
      { file: OPENING, find: 'moveCount < moveCountOf(fingerprint) - 1', put: 'moveCount < 0' },
    ],
  },
  {
    name: 'a registry that forgot a move does not hear of it',
    scenario: 'layout move, losses',
    seed: 24,
    edits: [
      {
        file: OPENING,
        find: 'latestOf(current.fingerprint, terms.layouts)',
        put: 'current.fingerprint',
      },
    ],
  },
  {
    name: 'an earlier change of layouts replaces a later one',
    scenario: 'layout move',
    seed: 16,
    edits: [
      {
        file: MOVE,
        find: 'const isLater = moveCountOf(reported) > moveCountOf(stored) ||',
        put: 'const isLater = moveCountOf(reported) > 0 ||',
      },
    ],
  },
  {
    name: 'both layouts have the same half of the worker ids',
    scenario: 'layout move',
    seed: 2,
    edits: [
      {
        file: LAYOUT_MOVE,
        find: 'spanOf((first + half) * factor, end * factor - 1)',
        put: 'spanOf(first * factor, (first + half) * factor - 1)',
      },
    ],
  },
  {
    name: 'what a server may forget without a sign is granted at once',
    scenario: 'forgets the last writes',
    seed: 11,
    edits: [{ file: ACQUIRE, find: 'if (keepsAfterMs === 0) return', put: 'return' }],
  },
  {
    name: 'a worker id that a server may forget is granted at once',
    scenario: 'forgets the last writes',
    seed: 6,
    edits: [{ file: ACQUIRE, find: youngRange, put: `if (status === 'wait') ${atOnce}` }],
  },
  {
    name: 'an end that a server may forget is granted at once',
    scenario: 'forgets the last writes',
    seed: 16,
    edits: [{ file: ACQUIRE, find: youngRange, put: `if (status === 'hold') ${atOnce}` }],
  },
  {
    name: 'a grant waits for less than the time that an old server may go on',
    scenario: 'forgets the last writes',
    seed: 117,
    edits: [
      {
        file: ACQUIRE,
        find: 'const { keepsAfterMs = 0 } = reading;',
        put: `const { lossWindowMs: longerMs } = reading;
  const keepsAfterMs = Math.max(0, (reading.keepsAfterMs ?? 0) - longerMs);`,
      },
    ],
  },
  {
    name: 'the end that was just stored is granted once the one before has the age',
    scenario: 'forgets the last writes',
    seed: 58,
    edits: [{ file: ACQUIRE, find: '{ ...slot, ceilingMs: storedMs }', put: 'slot' }],
  },
  {
    name: 'a registry begins below what the one before it granted',
    scenario: 'store move',
    seed: 2,
    edits: [
      {
        file: RENEW,
        find: 'moved(header, move.text, move.floorMs)',
        put: 'moved(header, move.text)',
      },
    ],
  },
  {
    name: 'a registry keeps its clock far below what another server granted',
    scenario: 'store move',
    seed: 36_002_601,
    edits: [
      {
        file: OPENING,
        find: 'nearer(observeTime(begun, reading, reckoned), haveMs)',
        put: 'observeTime(begun, reading, reckoned)',
      },
    ],
  },
  {
    name: 'the new registry has its half before it is taken from the old one',
    scenario: 'store move',
    seed: 72,
    edits: [
      {
        file: STORE_MOVE,
        find: ": closed(pair, 'to', laterCount);",
        put: ": halved(pair, 'to', laterCount);",
      },
    ],
  },
  {
    name: 'the halves of two registries overlap',
    scenario: 'store move',
    seed: 3,
    edits: [
      {
        file: STORE_MOVE,
        find: ': { workerIdMin: upperMin, workerIdMax };',
        put: ': { workerIdMin, workerIdMax };',
      },
    ],
  },
  {
    name: 'one registry gets all before the other one is closed',
    scenario: 'store move',
    seed: 2,
    edits: [
      {
        file: STORE_MOVE,
        find: "if (losing.kind !== 'closed' || losing.count <= winning.count) {",
        put: 'if (false) {',
      },
    ],
  },
  {
    name: 'the text of one registry is a later one for the other',
    scenario: 'store move',
    seed: 12,
    edits: [
      {
        file: STORE_MOVE,
        find: "if (isAhead(pair)) return halved(pair, 'from', to.count);",
        put: '',
      },
      {
        file: STORE_MOVE,
        find: 'to.count === from.count',
        put: 'to.count >= from.count',
      },
      {
        file: STORE_MOVE,
        find: "halved(pair, 'to', from.count);",
        put: "halved(pair, 'to', from.count + 5);",
      },
    ],
  },
];
