// @ts-check
/**
 * What the model is asked: the protocol as it is, within several bounds, and each broken variant
 * within bounds that are large enough for its counterexample.
 *
 * A broken variant is a mutant of the registry's source or a fault of the abstract holders. The
 * safe variants look broken and are not: the proof needs nothing of what they leave out.
 */
import { loadLibrary } from '../mutants/load-library.mjs';
import { REGISTRY_MUTANTS } from '../mutants/registry-mutants.mjs';
import { explore } from './explorer.mjs';
import { HOLDER_FAULTS } from './holder.mjs';

/** @import { Bounds } from './world.mjs' */

/**
 * @typedef {object} Variant
 * @property {string} name
 * @property {Bounds} bounds
 * @property {readonly import('../mutants/load-library.mjs').Edit[]} [edits] of the registry
 * @property {string} [fault] of the holders
 */

const PAIR = { processes: 2, workers: 1, runs: 1, time: 4 };
const TRIO = { ...PAIR, processes: 3 };

/** The protocol as it is: no two leases may overlap. */
/** @type {readonly Variant[]} */
export const CORRECT = [
  { name: 'no loss', bounds: { ...PAIR, requests: 4, runs: 2 } },
  { name: 'no loss, one more request', bounds: { ...PAIR, requests: 5 } },
  { name: 'no loss, two worker ids', bounds: { ...PAIR, workers: 2, requests: 3, runs: 2 } },
  { name: 'no loss, clock steps', bounds: { ...PAIR, requests: 4, clockSteps: 2 } },
  { name: 'three processes', bounds: { ...TRIO, requests: 5 } },
  {
    name: 'three processes, two worker ids',
    bounds: { ...TRIO, workers: 2, requests: 4, time: 5 },
  },
  { name: 'one loss', bounds: { ...PAIR, requests: 3, runs: 2, losses: 1 } },
  { name: 'one loss, one more request', bounds: { ...PAIR, requests: 4, losses: 1 } },
  {
    name: 'one loss, two worker ids, a clock behind',
    bounds: { ...PAIR, workers: 2, requests: 3, time: 5, losses: 1, lossWindow: 1 },
  },
  {
    name: 'two losses, a clock behind',
    bounds: { ...PAIR, requests: 3, losses: 2, lossWindow: 1 },
  },
  {
    name: 'one loss, the old server goes on',
    bounds: { ...PAIR, requests: 3, losses: 1, lossWindow: 1, splits: true },
  },
  {
    name: 'two losses, late copies of requests',
    bounds: { ...PAIR, requests: 2, runs: 2, time: 6, losses: 2, lossWindow: 1 },
  },
  { name: 'a copied process', bounds: { ...TRIO, requests: 4, runs: 2, time: 3, clones: 1 } },
  { name: 'a copied process and a loss', bounds: { ...TRIO, requests: 4, losses: 1, clones: 1 } },
  { name: 'claims', bounds: { ...PAIR, requests: 4, runs: 2, claims: true } },
  { name: 'claims, one more request', bounds: { ...TRIO, requests: 5, claims: true } },
  { name: 'claims, one loss', bounds: { ...PAIR, requests: 3, runs: 2, losses: 1, claims: true } },
  { name: 'claims, clock steps', bounds: { ...PAIR, requests: 4, clockSteps: 2, claims: true } },
];

/** The same within bounds that take seconds. */
/** @type {readonly Variant[]} */
export const CORRECT_QUICK = [
  { name: 'no loss', bounds: { ...PAIR, requests: 3, runs: 2 } },
  { name: 'no loss, clock steps', bounds: { ...PAIR, requests: 3, clockSteps: 2 } },
  { name: 'three processes', bounds: { ...TRIO, workers: 2, requests: 3 } },
  { name: 'one loss', bounds: { ...PAIR, requests: 2, runs: 2, losses: 1, lossWindow: 1 } },
  { name: 'two losses', bounds: { ...PAIR, requests: 2, losses: 2, lossWindow: 1 } },
  {
    name: 'the old server goes on',
    bounds: { ...PAIR, requests: 2, losses: 1, lossWindow: 1, splits: true },
  },
  { name: 'a copied process', bounds: { ...TRIO, requests: 4, clones: 1 } },
  { name: 'claims', bounds: { ...PAIR, requests: 3, claims: true } },
];

const STAYS = { ...PAIR, requests: 3 };
const LOSES = { ...PAIR, requests: 2, losses: 1 };

/** The bounds of a broken variant that needs others than STAYS. */
/** @type {Readonly<Record<string, Bounds>>} */
const NEEDED = {
  'renew without token check': {
    ...LOSES,
    requests: 3,
    runs: 2,
    time: 3,
    without: ['releases', 'crashes'],
  },
  'release without token check': { ...STAYS, requests: 4 },
  'renew may lower the ceiling': { ...STAYS, clockSteps: 1 },
  'release is not clamped to its own grant': { ...STAYS, requests: 4 },
  'no quarantine of a new registry': LOSES,
  'quarantine shorter than a lease': LOSES,
  'server change ignored': LOSES,
  'range extended across an era': { ...LOSES, requests: 3 },
  'ceiling = max(now, floor) + ttl': { ...LOSES, losses: 2 },
  'safe floor kept but not applied': LOSES,
  'a claim starts at now, not at the stored ceiling': { ...STAYS, claims: true },
  'new floor in a renew answer ignored': { ...STAYS, requests: 4 },
  'an answer applied to another lease than it was asked for': {
    ...STAYS,
    workers: 2,
    requests: 4,
    time: 3,
    without: ['releases'],
  },
};

const OPENING = 'registry/prologue.ts';

/** @type {Variant['edits']} */
const WITHOUT_WINDOW = [
  { file: OPENING, find: 'terms.ttlMs + reading.lossWindowMs', put: 'terms.ttlMs' },
];

/** Broken variants that only an exhaustive search is sure to meet. */
/** @type {readonly Variant[]} */
const RARE = [
  {
    // A late copy of an acquire leases to the same token again, behind the ids of others; then a
    // late copy of the release takes the ceiling back to the first lease's last id.
    name: 'release is clamped only when no id was made',
    edits: [
      {
        file: 'registry/renew.ts',
        find: 'Math.max(usedMs, holder.floorMs)',
        put: 'lastIssuedMs === undefined ? holder.floorMs : usedMs',
      },
    ],
    bounds: { ...PAIR, requests: 4, runs: 2, time: 3, without: ['crashes', 'asksAgain'] },
  },
  {
    name: 'quarantine without the clock difference',
    edits: WITHOUT_WINDOW,
    bounds: { ...LOSES, runs: 2, lossWindow: 1 },
  },
  {
    name: 'quarantine without the failover window',
    edits: WITHOUT_WINDOW,
    bounds: { ...LOSES, runs: 2, lossWindow: 1, splits: true },
  },
];

/**
 * Mutants whose duplicates lie between a process and its copy alone, which the model does not hold
 * against them: it shows instead that nobody else is harmed. The simulation counts their ids.
 */
const AMONG_COPIES = new Set(['no nonce although processes are cloned']);

/** The model's spans are small and searched whole; contract suite and simulation hold wide ones. */
const OF_WIDE_SPANS = new Set(['a drawn worker id granted without reading its ceiling']);
const isModelled = (/** @type {{ name: string }} */ { name }) =>
  !AMONG_COPIES.has(name) && !OF_WIDE_SPANS.has(name);

/** @type {readonly Variant[]} */
export const BROKEN = [
  ...REGISTRY_MUTANTS.filter(isModelled).map(({ name, edits }) => ({
    name,
    edits,
    bounds: NEEDED[name] ?? STAYS,
  })),
  ...RARE,
  ...HOLDER_FAULTS.map((fault) => ({ name: fault, fault, bounds: NEEDED[fault] ?? STAYS })),
];

/** Expected safe: what they leave out serves exactness or fairness, not uniqueness. */
/** @type {readonly Variant[]} */
export const SAFE = [
  {
    name: 'renew without have',
    edits: [
      {
        file: 'registry/renew.ts',
        find: 'const { slot } = snapshot;',
        put: 'const { slot } = snapshot; lease = { ...lease, haveMs: 0 };',
      },
    ],
    bounds: { ...PAIR, requests: 3, losses: 1, lossWindow: 1 },
  },
  {
    name: 'the worker id that was freed last',
    edits: [
      {
        file: 'registry/acquire.ts',
        find: 'workerIdMax }: IdSpan, { ceilingOf }: Searched)',
        put: 'workerIdMax }: IdSpan, { ceilingOf, nowMs }: Searched)',
      },
      {
        file: 'registry/acquire.ts',
        find: 'if (ceilingMs < ceilingOf(best)) best = workerId;',
        put: 'if (ceilingMs <= nowMs && ceilingMs > ceilingOf(best)) best = workerId;',
      },
    ],
    bounds: { ...PAIR, workers: 2, requests: 4 },
  },
  {
    name: 'raw time, not slewed',
    edits: [
      {
        file: 'rows/store-clock.ts',
        find: 'return lastTimeMs + slewMs;',
        put: 'return lastTimeMs;',
      },
    ],
    bounds: { ...PAIR, requests: 4, clockSteps: 2 },
  },
  ...REGISTRY_MUTANTS.filter(({ name }) => AMONG_COPIES.has(name)).map(({ name, edits }) => ({
    name,
    edits,
    bounds: { ...TRIO, requests: 4, clones: 1 },
  })),
];

/** @type {readonly Variant[]} */
export const SAFE_QUICK = SAFE.map(({ bounds, ...variant }) => ({
  ...variant,
  bounds: { ...bounds, requests: bounds.requests - 1 },
}));

/**
 * Known limits: what no registry can prevent. A copy that has not spoken since it was made is
 * unknown to the store, so what the other one gives back may still be in use.
 */
/** @type {readonly Variant[]} */
export const LIMITS = [
  {
    name: 'a copied process releases while its copy runs',
    bounds: { ...TRIO, requests: 3, clones: 1, copiesRelease: true },
  },
];

// Explores one variant with the real registry, or with the mutant that its edits make of it.

export async function runVariant(/** @type {Variant} */ { bounds, edits, fault }) {
  const { MemoryRegistry } = await loadLibrary(edits ?? [], 'stores/memory/index.ts');
  return explore({ MemoryRegistry, bounds, fault });
}
