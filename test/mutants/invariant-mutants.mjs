/**
 * Faults that an invariant in the library notices before an id or a write rests on them:
 * test/lease/invariants.spec.ts. `UNCHECKED` takes one of them out, so that the simulation still
 * shows that it would see the ids as well.
 */
/** @import { Edit } from './load-library.mjs' */
/** @import { Mutant } from './load-library.mjs' */

const TAKER = 'core/generator/block-taker.ts';
const RANGE = 'core/window/range-ring.ts';
const LEASE = 'lease/held-lease.ts';
const ACQUIRE = 'registry/acquire.ts';
const OPENING = 'registry/prologue.ts';

/** @type {Edit} */
export const UNCHECKED = {
  file: TAKER,
  find: 'if (!(tick >= floorTick && tick < ceilingTick)) {',
  put: 'if (false) {',
};

/** @type {readonly (Mutant & { readonly invariant: string })[]} */
export const INVARIANT_MUTANTS = [
  {
    name: 'a block above the ceiling',
    invariant: 'a block lies outside its range',
    edits: [{ file: TAKER, find: 'if (tick >= range.ceilingTick) {', put: 'if (false) {' }],
  },
  {
    name: 'a block below the floor',
    invariant: 'a block lies outside its range',
    edits: [
      {
        file: TAKER,
        find: 'return Math.max(this.window.follow(range, nowTick), range.floorTick, least);',
        put: 'return Math.max(this.window.follow(range, nowTick), least);',
      },
      { file: RANGE, find: 'return Math.max(0, floorTick);', put: 'return 0;' },
    ],
  },
  {
    name: 'a late renewal lowers the ceiling that the holder knows',
    invariant: 'a ceiling fell at a renewal',
    edits: [
      {
        file: LEASE,
        find: 'const haveMs = Math.max(heldMs, grant.ceilingMs);',
        put: 'const haveMs = grant.ceilingMs;',
      },
    ],
  },
  {
    name: 'operations are counted down',
    invariant: 'operations of a registry fell',
    edits: [
      {
        file: OPENING,
        find: 'const operations = stored.operations + 1;',
        put: 'const operations = stored.operations - 1;',
      },
    ],
  },
  {
    name: 'a longer quarantine brings the safe floor down',
    invariant: 'safeFloorMs of a registry fell',
    edits: [{ file: OPENING, find: 'header.safeFloorMs + longerMs', put: 'nowOf(header)' }],
  },
  {
    name: 'a range is granted below its floor',
    invariant: 'a range ends before it begins',
    edits: [
      {
        file: ACQUIRE,
        find: 'const waitMs = floorMs + request.minRangeMs - ceilingMs;',
        put: 'const waitMs = 0;',
      },
    ],
  },
];
