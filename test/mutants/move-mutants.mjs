/**
 * Broken variants of changes at run time: moves between layouts and between stores, and a store
 * that may lose its last writes. Each names the scenario of the simulation that detects it.
 */

/** @import { Mutant } from './load-library.mjs' */

const OPENING = 'registry/prologue.ts';
const ACQUIRE = 'registry/acquire.ts';
const RENEW = 'registry/renew.ts';
const LAYOUT_MOVE = 'cli/store/layout-move-plan.ts';
const STORE_MOVE = 'cli/store/store-move-plan.ts';

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
];
