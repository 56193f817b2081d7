/**
 * Every broken variant of the protocol that the tests must catch, by name, and the variants that
 * are safe and must pass: a mutant that lives where it should die means a test that is blind, and
 * one that dies where it should live means a test that cries wolf.
 */
import { UNCHECKED } from './lease-mutants.mjs';
import { REGISTRY_MUTANTS } from './registry-mutants.mjs';

/** @import { Mutant } from './load-library.mjs' */

// The broken variants of the protocol that lie on the holder's side, as edits of the real keeper,
// lease window and generator.

const KEEPER = 'lease/lease-keeper.ts';
const LEASE = 'lease/held-lease.ts';
const WINDOW = 'core/window/lease-window.ts';
const RANGE = 'core/window/range-ring.ts';
const TAKER = 'core/generator/block-taker.ts';

const ceilingCheck = 'if (tick >= range.ceilingTick) {';
const firstTick = 'return Math.max(this.window.follow(range, nowTick), range.floorTick, least);';
const placeLease = 'this.asked = asked;\n    this.floorMs = grant.floorMs;';
const sameLease = '    if (lease !== this.lease) return;\n';
const failure = 'this.retryLater((error as Error).message);\n    }\n  }\n\n  /** An answer counts';
const fencedCase = "      case 'fenced':\n      case 'unknown':\n";
const asksRenewal = 'const answer = await this.ask({\n        run: () => support.refreshAlive';

/** Prolongs the range by what the holder believes it will be answered. */
const believes =
  'this.parts.window.raise(lease.range, this.parts.hostClock.now() + this.parts.options.ttlMs);';

/** The lease ends at 90 % of its ttl by the holder's own clock, and no range is known. */
const localDeadline = [
  {
    file: LEASE,
    find: placeLease,
    put: `this.floorMs = -Infinity;
    this.asked = { ...asked, haveMs: sentAtMs + asked.ttlMs * 0.9 };`,
  },
  { file: LEASE, find: '{ asked, grant }: Acquired', put: '{ asked, sentAtMs }: Acquired' },
  {
    file: LEASE,
    find: `if (grant.floorMs === this.floorMs) {
      this.window.raise(this.range!, grant.ceilingMs);`,
    put: 'if (true) {\n      this.window.raise(this.range!, sentAtMs + asked.ttlMs * 0.9);',
  },
  {
    file: LEASE,
    find: 'freshNonce: () => string)',
    put: 'freshNonce: () => string, sentAtMs: number)',
  },
  {
    file: KEEPER,
    find: 'lease.apply(answer, asked, () => this.parts.identity.randomText());',
    put: 'lease.apply(answer, asked, () => this.parts.identity.randomText(), sentAtMs);',
  },
];

/** The ids of a range begin where the clock is, not at its floor. */
const beginsAnywhere = { file: RANGE, find: 'return Math.max(0, floorTick);', put: 'return 0;' };

/** A lease in the usual sense: the clock decides, ids know no range. */
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
    name: 'renew timeout taken as success',
    tryFirst: { scenario: 'everything', seed: 8 },
    edits: [{ file: KEEPER, find: failure, put: `${believes}\n      ${failure}` }],
  },
  {
    name: 'ceiling inclusive',
    tryFirst: { scenario: 'everything', seed: 8 },
    edits: [{ file: TAKER, find: ceilingCheck, put: 'if (tick > range.ceilingTick) {' }, UNCHECKED],
  },
  {
    name: "ceiling compared with the clock instead of the id's time",
    tryFirst: { scenario: 'everything', seed: 1 },
    edits: [
      { file: TAKER, find: ceilingCheck, put: 'if (nowTick >= range.ceilingTick) {' },
      UNCHECKED,
    ],
  },
  {
    name: 'no ceiling check',
    tryFirst: { scenario: 'everything', seed: 1 },
    edits: [{ file: TAKER, find: ceilingCheck, put: 'if (false) {' }, UNCHECKED],
  },
  {
    name: 'release stores the wall clock',
    tryFirst: { scenario: 'losses', seed: 4 },
    edits: [
      {
        file: KEEPER,
        find: 'await this.giveBack(lease.asked, lease.lastIssuedMs);',
        put: 'await this.giveBack(lease.asked, this.parts.hostClock.now());',
      },
    ],
  },
  {
    name: 'ids after release',
    tryFirst: { scenario: 'everything', seed: 53 },
    edits: [{ file: KEEPER, find: '    window.close(texts.stopped);\n', put: '' }],
  },
  {
    name: 'an answer applied to another lease than it was asked for',
    tryFirst: { scenario: 'clones', seed: 1 },
    edits: [
      {
        file: KEEPER,
        find: sameLease,
        put: '    if (this.lease === undefined) return;\n    lease = this.lease;\n',
      },
      {
        file: LEASE,
        find: 'const isNews = asked.nonceNext === this.asked.nonceNext;',
        put: 'const isNews = false;',
      },
    ],
  },
  {
    name: 'late answer applied after a switch',
    tryFirst: { scenario: 'claims', seed: 125 },
    edits: [{ file: KEEPER, find: sameLease, put: '' }],
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
    name: 'new floor in a renew answer ignored',
    tryFirst: { scenario: 'everything', seed: 60 },
    edits: [{ file: LEASE, find: 'if (grant.floorMs === this.floorMs) {', put: 'if (true) {' }],
  },
  {
    name: '`last` reset when the next lease arrives instead of when it is entered',
    tryFirst: { scenario: 'everything', seed: 7 },
    edits: [
      {
        file: TAKER,
        find: 'const least = range === block.range ? block.tick : next;',
        put: `const isNextThere = this.window.ring.newest > range.number;
    const least = range !== block.range || isNextThere ? -Infinity : block.tick;`,
      },
    ],
  },
  {
    name: 'TTL lease, client stops at its local deadline',
    tryFirst: { scenario: 'rows', seed: 2 },
    edits: [
      ...localDeadline,
      ...ttlLease,
      { file: TAKER, find: ceilingCheck, put: 'if (nowTick >= range.ceilingTick) {' },
    ],
  },
  {
    name: 'TTL lease, client never stops',
    tryFirst: { scenario: 'rows', seed: 1 },
    edits: [...ttlLease, { file: TAKER, find: ceilingCheck, put: 'if (false) {' }],
  },
];

// The registry without one of its rules for clocks that are wrong: what a survivor tells of the
// registry that was lost, and what keeps it from following a store to a wrong time. The model,
// whose holders read no clock, cannot see them. That nobody is asked at all has a case in the
// contract suite: in a fleet the ranges of survivors say nearly as much.

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
    name: 'a server that was left grants by the clock of the next one',
    tryFirst: { scenario: 'everything', seed: 31_000_043 },
    edits: [
      {
        file: OPENING,
        find: 'Math.max(safeFloorMs, windowEndMs)',
        put: 'safeFloorMs',
      },
    ],
  },
  {
    name: 'a process tells the time it was told, and not what has gone by since',
    tryFirst: { scenario: 'step back, then loss', seed: 3 },
    edits: [
      {
        file: 'lease/request-terms.ts',
        find: 'Math.ceil(this.askedAtMs - askedAtMs)',
        put: '0',
      },
    ],
  },
  {
    name: 'only a grant tells the clock',
    tryFirst: { scenario: 'step back, then loss, a host waits', seed: 19 },
    edits: [
      {
        file: 'lease/request-terms.ts',
        find: 'timeMs === undefined) return;\n    if (askedAtMs',
        put: "!timeMs || answer.status !== 'ok') return;\n    if (askedAtMs",
      },
    ],
  },
  {
    name: 'a process that waits forgets the clock',
    tryFirst: { scenario: 'step back, then loss, a host waits', seed: 52 },
    edits: [
      {
        file: 'lease/request-terms.ts',
        find: 'if (askedAtMs < (this.reading?.askedAtMs ?? -Infinity)) return;',
        put: "if (answer.status !== 'ok') return void (this.reading = undefined);",
      },
    ],
  },
  {
    name: 'a settled clock hides how far ranges were granted',
    tryFirst: { scenario: 'settled, then lost', seed: 30 },
    edits: [{ file: OPENING, find: 'observeLatest(opened, terms.latestMs)', put: 'opened' }],
  },
  {
    name: 'a registry that lost the end of a settled clock moves its clock, and not its safe floor',
    tryFirst: { scenario: 'settled, then lost', seed: 30 },
    edits: [
      {
        file: OPENING,
        find: 'raised({ ...header, toldMs: undefined }, latestMs)',
        put: 'raised({ ...header, toldMs: undefined }, 0)',
      },
    ],
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
  {
    name: 'a registry follows its store where somebody new asks',
    tryFirst: { scenario: 'step forward for seconds', seed: 2 },
    edits: [
      { file: CLOCK, find: 'fits ? wallMs : mayFit ? lastTimeMs : undefined', put: 'undefined' },
    ],
  },
];

// Changes that the protocol expects to be safe: they may cost accuracy or order, not uniqueness.

const MEMORY = '../test/models/memory-registry.ts';
const RENEW = 'registry/renew.ts';

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
    // Of millions the first few thousand are choice enough, and the harder test.
    const highest = Math.min(workerIdMax, workerIdMin + 4095);
    for (let id = workerIdMin; state && id <= highest; id++)
      if ((state.ceilings.get(id) ?? 0) <= state.lastTimeMs + state.slewMs) free.push(id);
    const lowest = slotOf(state, free[(state?.operations * 7919) % free.length] ??
      this.search(request, reading));`,
      },
    ],
  },
  {
    // An operator who sets the clock back keeps the end of what was granted by the clock's reading.
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
  {
    // Where a server is asked again that was left, the renewals of others are the proof.
    name: 'renew without `have`',
    skips: ['there and back'],
    edits: [
      {
        file: RENEW,
        find: 'const { slot } = snapshot;',
        put: 'const { slot } = snapshot;\n  lease = { ...lease, haveMs: 0 };',
      },
    ],
  },
  {
    name: 'no nonce where there are no clones',
    skips: ['clones'],
    edits: [
      {
        file: RENEW,
        find: 'if (!knowsNonce && !(isNewEra && haveMs >= lastMs)) {',
        put: 'if (false) {',
      },
    ],
  },
];

export const BROKEN_VARIANTS = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...CLIENT_MUTANTS];

export { CLIENT_MUTANTS, REGISTRY_MUTANTS, SAFE_VARIANTS, TIME_MUTANTS };
