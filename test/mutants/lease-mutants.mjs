/**
 * Broken variants of a lease, as edits of the real source: faults that an invariant in the library
 * notices before an id or a write rests on them (test/lease/invariants.spec.ts), and what a keeper
 * tells the application of its worker id (test/lease/lease-states.spec.ts). `UNCHECKED` takes an
 * invariant out, so that the simulation still shows that it would see the ids as well.
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
    name: 'a move from one worker id to another is not told',
    edits: [
      {
        file: KEEPER,
        find: 'if (from !== to) quietly',
        put: 'if (from === undefined || to === undefined) quietly',
      },
    ],
  },
  {
    name: 'a process without a worker id is told that it has none',
    edits: [{ file: KEEPER, find: 'if (from !== to) quietly', put: 'quietly' }],
  },
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
    name: 'the end is told while ids can still be made',
    edits: [
      {
        file: KEEPER,
        find: `    window.close(texts.stopped);
    this.hold(undefined, 'released', 'The application is shutting down.');`,
        put: `    this.hold(undefined, 'released', 'The application is shutting down.');
    window.close(texts.stopped);`,
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

/** Of the claim of a region's number. @type {readonly Mutant[]} */
export const REGION_MUTANTS = [
  {
    name: 'one refusal is a conflict',
    edits: [
      {
        file: REGION,
        find: "if (this.refusedMs >= this.graceMs) this.become('conflict', text);\n    } else",
        put: '}',
      },
      {
        file: REGION,
        find: 'if (this.stillMs < CLAIM_TTL_MS) {',
        put: "this.become('conflict', text); {",
      },
    ],
  },
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
    name: 'the claim of another region is taken for its own',
    edits: [
      {
        file: REGION,
        find: 'record?.holder?.application.endsWith(markOf(name)) === true',
        put: 'record?.holder !== undefined && name !== undefined',
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
    name: 'a region that is cut off is not told so',
    edits: [
      { file: REGION, find: 'if (this.silentMs >= CLAIM_TTL_MS) this', put: 'if (false) this' },
    ],
  },
  {
    name: 'the claim is not extended in time',
    edits: [
      {
        file: REGION,
        find: 'freeInMs > ttlMs - FRESH_MS',
        put: 'freeInMs >= 0',
      },
    ],
  },
  {
    name: 'a process whose lease has ended keeps the number',
    edits: [{ file: REGION, find: 'if (endMs <= nowMs) return', put: 'if (false) return' }],
  },
  {
    name: 'a process whose lease has ended stays in conflict',
    tryFirst: { seed: 1, scenario: 'regions' },
    edits: [{ file: REGION, find: 'return this.silent(NO_RANGE, elapsedMs);', put: 'return;' }],
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
    name: 'a claim lasts as if all clocks were one',
    tryFirst: { seed: 4, scenario: 'after' },
    edits: [
      { file: REGION, find: 'freeInMs > 0 ? ceilingMs - freeInMs : ', put: '' },
      { file: REGION, find: 'longerMs - ttlMs > FRESH_MS', put: 'false' },
    ],
  },
  {
    name: 'a copy of a registry has the name of its original',
    edits: [
      {
        file: 'lease/lease-texts.ts',
        find: 'return lineage === undefined ? incarnation : `${incarnation}/${lineage}`;',
        put: 'return lineage === undefined ? incarnation : incarnation;',
      },
    ],
  },
  {
    name: 'what was claimed under an old name is not taken over',
    edits: [{ file: REGION, find: '[...this.names].some(isOf)', put: 'false' }],
  },
  {
    name: 'a claim that nobody extends is a conflict',
    edits: [
      { file: REGION, find: 'if (this.stillMs < CLAIM_TTL_MS) {', put: 'if (this.stillMs >= 0) {' },
    ],
  },
  {
    name: 'a claim that is extended is none',
    edits: [
      { file: REGION, find: 'isFirst ? Infinity : isExtended ? 0 :', put: 'isFirst ? Infinity :' },
    ],
  },
  {
    name: 'a claim that another server of the registry of regions ended is left to nobody',
    edits: [{ file: REGION, find: ' || this.isLeft(record)', put: '' }],
  },
];
