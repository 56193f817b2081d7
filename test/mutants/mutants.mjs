/**
 * Every broken variant of the protocol that the tests must catch, and the safe variants that must
 * pass. A broken variant that passes means a blind test. A safe variant that fails means a false
 * alarm.
 */
import { UNCHECKED } from './lease-mutants.mjs';
import { REGISTRY_MUTANTS } from './registry-mutants.mjs';

/** @import { Mutant } from './load-library.mjs' */

// Broken variants on the holder's side of the protocol, as edits of the real keeper, lease window
// and generator.

const KEEPER = 'lease/lease-keeper.ts';
const LEASE = 'lease/held-lease.ts';
const WINDOW = 'core/window/lease-window.ts';
const RANGE = 'core/window/range-ring.ts';
const TAKER = 'core/generator/block-taker.ts';

const ceilingCheck = 'if (tick >= range.ceilingTick) {';
const firstTick = 'return Math.max(this.window.follow(range, nowTick), range.floorTick, least);';
const placeLease = 'this.asked = asked;\n    this.floorMs = grant.floorMs;';
const fencedCase = "      case 'fenced':\n      case 'unknown':\n";
const asksRenewal = 'const answer = await this.ask({\n        run: () => support.refreshAlive';

/** Extends the range before the answer confirms it. */
const believes =
  'this.parts.window.raise(lease.range, this.parts.hostClock.now() + this.parts.options.ttlMs);';

/** IDs of a range begin at the clock instead of its floor. */
const beginsAnywhere = { file: RANGE, find: 'return Math.max(0, floorTick);', put: 'return 0;' };

/** A conventional lease: the clock decides, and IDs have no range. */
const ttlLease = [
  {
    file: WINDOW,
    find: 'const { workerId, floorMs, ceilingMs } = range;\n',
    put: 'const { workerId, floorMs, ceilingMs } = range;\n    this.reserveTicks = 0;\n',
  },
  beginsAnywhere,
  UNCHECKED,
  { file: TAKER, find: firstTick, put: 'return Math.max(nowTick, least);' },
];

/** @type {readonly Mutant[]} */
const CLIENT_MUTANTS = [
  {
    name: "floor = acquirer's clock",
    tryFirst: { scenario: 'losses', seed: 4 },
    edits: [
      { file: LEASE, find: placeLease, put: 'this.asked = asked;\n    this.floorMs = sentAtMs;' },
      { file: LEASE, find: '{ asked, grant }: Acquired', put: '{ asked, sentAtMs }: Acquired' },
    ],
  },
  {
    name: 'ceiling used before it is stored',
    tryFirst: { scenario: 'everything', seed: 8 },
    edits: [{ file: KEEPER, find: asksRenewal, put: `${believes}\n    ${asksRenewal}` }],
  },
  {
    name: 'no ceiling check',
    tryFirst: { scenario: 'everything', seed: 1 },
    edits: [{ file: TAKER, find: ceilingCheck, put: 'if (false) {' }, UNCHECKED],
  },
  {
    name: 'ids after release',
    tryFirst: { scenario: 'everything', seed: 53 },
    edits: [{ file: KEEPER, find: '    window.close(texts.stopped);\n', put: '' }],
  },
  {
    name: 'FENCED ignored',
    tryFirst: { scenario: 'everything', seed: 8 },
    edits: [
      {
        file: KEEPER,
        find: fencedCase,
        put: `case 'fenced':\n        ${believes}\n        return;\n      case 'unknown':\n`,
      },
    ],
  },
  {
    name: 'token derived from the host',
    tryFirst: { scenario: 'everything', seed: 1 },
    edits: [
      {
        file: KEEPER,
        find: 'token: identity.randomText(),',
        put: 'token: identity.label().host,',
      },
      { file: KEEPER, find: 'nonce: identity.randomText(),', put: "nonce: 'always the same'," },
    ],
  },
  {
    name: 'local time allowed to go back',
    tryFirst: { scenario: 'everything', seed: 7 },
    edits: [
      {
        file: TAKER,
        find: firstTick,
        put: 'return Math.max(this.window.follow(range, nowTick), range.floorTick);',
      },
    ],
  },
  {
    name: 'holder ignores the floor',
    tryFirst: { scenario: 'rows', seed: 1 },
    edits: [
      {
        file: TAKER,
        find: firstTick,
        put: 'return Math.max(this.window.follow(range, nowTick), least);',
      },
      beginsAnywhere,
      UNCHECKED,
    ],
  },
  {
    name: 'TTL lease, client never stops',
    tryFirst: { scenario: 'rows', seed: 1 },
    edits: [...ttlLease, { file: TAKER, find: ceilingCheck, put: 'if (false) {' }],
  },
];

// The registry without one of its rules against wrong clocks: a survivor's report about a lost
// registry, and the limit to following a store's wrong time. The model cannot detect these
// variants, since its holders read no clock. A case of the contract suite covers a registry that
// asks no survivor, since in a fleet the survivors' ranges carry nearly the same data.

const OPENING = 'registry/prologue.ts';
const CLOCK = 'rows/store-clock.ts';

/** @type {readonly Mutant[]} */
const TIME_MUTANTS = [
  {
    name: 'a registry that was behind moves its clock, and not its safe floor',
    tryFirst: { scenario: 'step back, then loss, newcomers', seed: 7 },
    edits: [
      {
        file: OPENING,
        find: 'raised(moved, Math.max(safeFloorMs, windowEndMs))',
        put: 'raised(moved, 0)',
      },
    ],
  },
  {
    name: 'a settled clock hides how far ranges were granted',
    tryFirst: { scenario: 'settled, then lost', seed: 30 },
    edits: [{ file: OPENING, find: 'observeLatest(opened, terms.latestMs)', put: 'opened' }],
  },
  {
    name: 'a registry follows its store wherever that goes',
    tryFirst: { scenario: 'step forward for seconds', seed: 2 },
    edits: [
      {
        file: CLOCK,
        find: 'const { lastTimeMs, slewMs } = last;',
        put:
          'const { lastTimeMs, slewMs } = last;\n' +
          '  if (lastTimeMs > 0) return { timeMs, isUnconfirmed: false };',
      },
    ],
  },
];

// Changes that the protocol considers safe: they may cost accuracy or order, not uniqueness.

const MEMORY = '../test/models/memory-registry.ts';

/** @type {readonly Mutant[]} */
const SAFE_VARIANTS = [
  {
    name: 'random choice among the free worker ids',
    edits: [
      {
        file: MEMORY,
        find: 'const lowest = slotOf(state, this.search(request, reading));',
        put: `const free = [];
    const { workerIdMin, workerIdMax } = spanToSearch(request, state, state?.lastTimeMs ?? 0);
    // A few thousand of millions are enough, and the harder test.
    const highest = Math.min(workerIdMax, workerIdMin + 4095);
    for (let id = workerIdMin; state && id <= highest; id++)
      if ((state.ceilings.get(id) ?? 0) <= state.lastTimeMs + state.slewMs) free.push(id);
    const lowest = slotOf(state, free[(state?.operations * 7919) % free.length] ??
      this.search(request, reading));`,
      },
    ],
  },
  {
    // An operator who sets the clock back keeps the end of all grants by the clock before.
    name: 'raw TIME without slewing',
    skips: ['settled, then lost'],
    edits: [
      {
        file: 'rows/store-clock.ts',
        find: 'return lastTimeMs + slewMs;',
        put: 'return lastTimeMs;',
      },
    ],
  },
];

export const BROKEN_VARIANTS = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...CLIENT_MUTANTS];

export { CLIENT_MUTANTS, REGISTRY_MUTANTS, SAFE_VARIANTS, TIME_MUTANTS };
