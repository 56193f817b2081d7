/**
 * Broken variants of a lease, as edits of the real source. The first are errors that an invariant
 * of the library detects before an ID or a write depends on them (test/lease/invariants.spec.ts).
 * Others change what a keeper reports to the application about its worker ID
 * (test/lease/lease-states.spec.ts). `UNCHECKED` removes an invariant, so that the simulation
 * itself must detect the IDs.
 */
/** @import { Edit, Mutant } from './load-library.mjs' */

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
    name: 'a longer quarantine leads back to the era before',
    invariant: 'era of a registry fell',
    edits: [{ file: OPENING, find: '? header.era + 1 :', put: '? header.era - 1 :' }],
  },
  {
    name: 'a process with shorter leases shortens the quarantine',
    invariant: 'quarantineMs of a registry fell',
    edits: [
      {
        file: OPENING,
        find: 'if (longerMs <= 0) return header;',
        put: 'if (longerMs === 0) return header;',
      },
    ],
  },
  {
    name: 'a second move forgets the floor of the first',
    invariant: 'layoutFloorMs of a registry fell',
    edits: [{ file: OPENING, find: 'Math.max(lastMs, nowOf(next)', put: 'Math.max(nowOf(next)' }],
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

const KEEPER = 'lease/lease-keeper.ts';

/** @type {readonly Mutant[]} */
export const KEEPER_MUTANTS = [
  {
    name: 'a loss is told while ids can still be made',
    edits: [
      {
        file: KEEPER,
        find: `    this.parts.window.vacate(() => refusal);
    return this.lose('dropped', refusal.message);`,
        put: `    const next = this.lose('dropped', refusal.message);
    this.parts.window.vacate(() => refusal);
    return next;`,
      },
    ],
  },
  {
    name: 'the application is told before the status shows it',
    edits: [
      {
        file: KEEPER,
        find: `    this.lease = lease;
    this.change(event, reason);
    const [from, to] = [this.reportedId, this.workerId];
    this.reportedId = to;
    if (from !== to) quietly(() => this.parts.onWorkerIdChange?.({ from, to, reason }));`,
        put: `    const [from, to] = [this.reportedId, lease?.workerId];
    this.reportedId = to;
    if (from !== to) quietly(() => this.parts.onWorkerIdChange?.({ from, to, reason }));
    this.lease = lease;
    this.change(event, reason);`,
      },
    ],
  },
];

const REGION = 'lease/region-claim.ts';

/** Variants of the claim of a region's number. @type {readonly Mutant[]} */
export const REGION_MUTANTS = [
  {
    name: 'all regions have one token',
    edits: [
      {
        file: REGION,
        find: 'return `region ${number} of ${incarnation.slice(0, 150)}`;',
        put: 'return `region ${number}`;',
      },
    ],
  },
  {
    name: 'a refusal does not last',
    edits: [
      {
        file: REGION,
        find: 'this.refusedMs = isFirst ? 0 : this.refusedMs! + elapsedMs',
        put: 'this.refusedMs = 0',
      },
    ],
  },
  {
    name: 'a claim ends before the ranges of its region',
    edits: [
      {
        file: REGION,
        find: 'return Math.min(Math.max(0, beyondMs), BEYOND_MS_MAX) + CLAIM_TTL_MS;',
        put: 'return CLAIM_TTL_MS;',
      },
    ],
  },
  {
    name: 'a claim that is extended is none',
    edits: [
      { file: REGION, find: 'isFirst ? Infinity : isExtended ? 0 :', put: 'isFirst ? Infinity :' },
    ],
  },
];
