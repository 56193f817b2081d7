/**
 * Broken variants on the store's side of the protocol, as edits of the registry's rules.
 */

/** @import { Mutant } from './load-library.mjs' */

const MEMORY = '../test/models/memory-registry.ts';
const SEARCH = '../test/models/worker-id-search.ts';
const CLOCK = 'rows/store-clock.ts';
const OPENING = 'registry/prologue.ts';
const ACQUIRE = 'registry/acquire.ts';
const RENEW = 'registry/renew.ts';
const RELEASE = 'registry/renew.ts';

const floorAtRegrant = 'const floorMs = Math.max(lastMs, floorOf(header));';
const floorAtRenewal = 'Math.max(slot.ceilingMs, lease.haveMs, floorOf(header));';
const renewedCeiling = 'Math.max(storedMs, nowOf(header) + lease.ttlMs);';
const isHolder = 'holder !== undefined && holder.token === lease.token;\n  const mine';
const brokenChain = 'if (!knowsNonce && !(isNewEra';

/** @type {readonly Mutant[]} */
export const REGISTRY_MUTANTS = [
  {
    name: 'no floor at re-grant',
    tryFirst: { scenario: 'everything', seed: 8 },
    edits: [{ file: ACQUIRE, find: floorAtRegrant, put: 'const floorMs = floorOf(header);' }],
  },
  {
    name: 'renew answers but does not store',
    tryFirst: { scenario: 'split-brain', seed: 42 },
    edits: [
      {
        file: RENEW,
        find: 'return grantKept(header, { ...slot, ceilingMs }, terms);',
        put: 'return { ...grantKept(header, { ...slot, ceilingMs }, terms), slots: [slot] };',
      },
    ],
  },
  {
    // The chain of nonces would detect this, but this variant ignores it.
    name: 'renew without token check',
    tryFirst: { scenario: 'network', seed: 1 },
    edits: [
      { file: RENEW, find: isHolder, put: 'holder !== undefined;\n  const mine' },
      { file: RENEW, find: brokenChain, put: 'if (false && !(isNewEra' },
    ],
  },
  {
    name: 'release without token check',
    tryFirst: { scenario: 'crowd', seed: 1 },
    edits: [
      {
        file: RELEASE,
        find: 'if (!isHolder || !knowsNonce)',
        put: 'if (holder === undefined)',
      },
    ],
  },
  {
    // One call reads the ceilings, and a later one writes, up to 40 ms apart.
    name: 'acquire in two steps',
    tryFirst: { scenario: 'everything', seed: 53 },
    edits: [
      {
        file: MEMORY,
        find: 'const step = acquire(this.snapshotFor(request, reading), request, reading);',
        put: `const snapshot = this.snapshotFor(request, reading);
    const { before, state } = this;
    const { timeMs } = reading;
    this.before = { ceilings: new Map(state?.ceilings), timeMs };
    if (before && timeMs - before.timeMs < 40) {
      this.state = { ...state, ceilings: before.ceilings };
      const workerId = this.search(request, reading);
      this.state = state;
      snapshot.lowest = { workerId, ceilingMs: before.ceilings.get(workerId) ?? 0 };
    }
    const step = acquire(snapshot, request, reading);`,
      },
    ],
  },
  {
    name: 'renew may lower the ceiling',
    tryFirst: { scenario: 'clocks', seed: 49 },
    edits: [
      { file: RENEW, find: renewedCeiling, put: 'nowOf(header) + lease.ttlMs;' },
      { file: CLOCK, find: 'return lastTimeMs + slewMs;', put: 'return lastTimeMs;' },
    ],
  },
  {
    name: 'no quarantine of a new registry',
    tryFirst: { scenario: 'losses', seed: 24 },
    edits: [{ file: OPENING, find: 'reading.timeMs + quarantineMs', put: 'reading.timeMs' }],
  },
  {
    name: 'server change ignored',
    tryFirst: { scenario: 'losses', seed: 1 },
    edits: [
      {
        file: OPENING,
        find: '{ ...afterLoss(header, reading), server }',
        put: '{ ...header, server: reading.server }',
      },
    ],
  },
  {
    name: 'range extended across an era',
    tryFirst: { scenario: 'split-brain', seed: 4 },
    edits: [
      {
        file: RENEW,
        find: 'const isNewEra = holder.era !== header.era;',
        put: 'const isNewEra = false;',
      },
    ],
  },
  {
    name: 'a claim starts at now, not at the stored ceiling',
    tryFirst: { scenario: 'claims', seed: 57 },
    edits: [
      {
        file: ACQUIRE,
        find: floorAtRegrant,
        put: `const floorMs = Math.max(isClaim(request) ? nowMs : lastMs, floorOf(header));`,
      },
    ],
  },
  {
    name: 'safe floor kept but not applied',
    tryFirst: { scenario: 'rows', seed: 3 },
    edits: [
      { file: ACQUIRE, find: floorAtRegrant, put: 'const floorMs = lastMs;' },
      { file: RENEW, find: floorAtRenewal, put: 'Math.max(slot.ceilingMs, lease.haveMs);' },
    ],
  },
  {
    name: 'a drawn worker id granted without reading its ceiling',
    tryFirst: { scenario: 'wide', seed: 54 },
    edits: [
      {
        file: MEMORY,
        find: 'const lowest = slotOf(state, this.search(request, reading));',
        put: `const { workerIdMin, workerIdMax } = request;
    const isWide = workerIdMax - workerIdMin >= (this.wholeCountMax ?? 4096);
    const found = slotOf(state, this.search(request, reading));
    const lowest = isWide ? { ...found, ceilingMs: 0 } : found;`,
      },
      {
        file: SEARCH,
        find: 'let best: number | undefined;',
        put: `let best: number | undefined;
  if (seed !== '') return span.workerIdMin;`,
      },
    ],
  },
];

// Broken variants of the registry over rows, as edits of the code between the rules and a store.
// The concurrent walk must detect each.

const SUPPORT = 'registry/registry-support.ts';
const SLICE = 'registry/stored-snapshot.ts';

/** `seed` shows the error. @type {readonly (Mutant & { seed: number })[]} */
export const ROWS_MUTANTS = [
  {
    name: 'a write that was refused counts as done',
    seed: 1,
    edits: [
      {
        file: SUPPORT,
        find: '(await this.#isTaken(write, step.slots, tries))',
        put: '(await this.#isTaken(write, step.slots, tries), true)',
      },
    ],
  },
  {
    name: 'a row that was deleted is one that was never used',
    seed: 2,
    edits: [
      {
        file: SLICE,
        find: 'if (block === undefined) return undefined;',
        put: 'return undefined;',
      },
    ],
  },
  {
    name: 'the clock of the header is written only once',
    seed: 95,
    edits: [
      {
        file: SLICE,
        find: 'if (agedMs === 0 || (agedMs > 0 && agedMs < ageMs))',
        put: 'if (agedMs >= 0)',
      },
    ],
  },
];

const LATEST = 'rows/cas-retry.ts';

/**
 * Variants of repeated requests. `by` names the property of test/registry/fleets.spec.ts that must
 * detect it.
 *
 * @type {readonly (Mutant & { by: string })[]}
 */
export const REPEATED_MUTANTS = [
  {
    name: 'a call that never ends keeps its place among the few',
    by: 'is not delayed by many unanswered requests',
    edits: [
      {
        file: 'time/line.ts',
        find: 'after(this.limit.ms, leave)',
        put: 'after(this.limit.ms, () => {})',
      },
    ],
  },
  ...[
    'gets its worker ID even if each step of the store exceeds the limit of a call',
    'gets its worker ID in a herd, as all others do',
  ].map((by) => ({
    name: `what is on its way is dropped when it is asked for again (${by})`,
    by,
    edits: [
      {
        file: SUPPORT,
        find: 'if (onItsWay !== undefined)',
        put: 'if (onItsWay === null)',
      },
    ],
  })),
  {
    name: 'the time of the first question is the answer to the second',
    by: 'gets no time from before its request',
    edits: [{ file: SUPPORT, find: 'withoutTime(await onItsWay)', put: 'await onItsWay' }],
  },
  {
    name: 'another question gets the same answer',
    by: 'gets a separate answer to a different request',
    edits: [
      {
        file: LATEST,
        find: 'latest?.question === question',
        put: 'latest?.question !== undefined',
      },
    ],
  },
  {
    name: 'what never comes is waited for without end',
    by: 'does not wait forever for a silent store',
    edits: [{ file: LATEST, find: 'own.question = undefined', put: 'own.question' }],
  },
];
const TERMS = 'lease/request-terms.ts';

/** @type {readonly (Mutant & { readonly scenario: string, readonly seed: number })[]} */
export const RULE_MUTANTS = [
  {
    name: 'two layouts with ranges go on',
    scenario: 'relayout',
    seed: 36,
    edits: [
      {
        file: OPENING,
        find: '!contests(text, terms, nowMs)',
        put: 'true',
      },
    ],
  },
  {
    name: 'a process forgets the longest quarantine',
    scenario: 'ttls',
    seed: 6,
    edits: [{ file: TERMS, find: 'terms.quarantineMs = Math.max(', put: 'Math.max(' }],
  },
  {
    name: 'the floor of the last loss does not move',
    scenario: 'step back, then loss, newcomers',
    seed: 110,
    edits: [{ file: OPENING, find: 'header.safeFloorMs + longerMs', put: 'header.safeFloorMs' }],
  },
];
