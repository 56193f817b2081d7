/**
 * Attacks a topology until its time is over and the run proves something. A seed shuffles the decks
 * of faults, and one or two of these happen at a time.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** @import { Fault, Pace, World } from './fault.mjs' */

/**
 * @typedef {object} Entry a fault that happened
 * @property {Fault} fault
 * @property {string} [location]
 * @property {number} fromMs
 * @property {number} toMs
 * @property {number} grantCount worker IDs leased between its end and the start of the next fault
 * @property {string} [besideName] the fault of the store at the same time
 */

/** The interval of checks whether the processes may be attacked again. */
const CALM_MS = 100;
/**
 * Additional time on a slow machine, in which each fault happens and the processes generate enough.
 */
const OVERTIME_MS = 240_000;

/**
 * Mulberry32, so that a seed yields the same numbers.
 * @param {string} seed @returns numbers from 0 up to 1
 */
export function randomOf(seed) {
  let state = Number.parseInt(createHash('sha256').update(seed).digest('hex').slice(0, 8), 16);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);

/**
 * Attacks the processes as long as the store, and until each fault has happened and the fleet has
 * generated enough.
 * @typedef {object} Attack
 * @property {World} world
 * @property {readonly Fault[]} faults
 * @property {Pace} pace
 * @property {string} seed decides the order of faults on each level, however long they take
 * @property {number} seconds
 * @property {boolean} [isUntil] whether `seconds` is a limit, and the run ends as soon as it has
 * enough
 * @property {boolean} [isPaired] whether two faults hit the store at once
 * @property {Entry[]} log
 * @property {() => boolean} isEnough
 *
 * @param {Attack} attack
 */
export async function attackAll(attack) {
  const startMs = monotonicMs();
  const { faults, seconds, isUntil = false, log, isEnough } = attack;
  const [leastMs, mostMs] = isUntil
    ? [0, seconds * 1000]
    : [seconds * 1000, seconds * 1000 + OVERTIME_MS];
  // A fault of the store counts only after a later grant.
  const isSeen = (/** @type {Entry} */ { fault, grantCount }) =>
    fault.level === 'process' || attack.pace.grantMs === 0 || grantCount > 0;
  const isDone = () =>
    faults.every((fault) => log.some((entry) => entry.fault === fault && isSeen(entry)));
  const isOver = () => {
    const passedMs = monotonicMs() - startMs;
    return passedMs > mostMs || (passedMs > leastMs && isDone() && isEnough());
  };
  await Promise.all([onProcesses(attack, isOver), onStore(attack, isOver)]);
}

/** @param {Attack} attack @param {() => boolean} isOver */
async function onProcesses(attack, isOver) {
  const { world, pace, log } = attack;
  const deal = dealer('process', attack);
  while (!isOver()) {
    // The topology decides now which processes start, end or pause.
    if (world.topology.isCalm) {
      await sleep(CALM_MS);
      continue;
    }
    const [fault] = deal();
    const { leaseCount } = world.fleet;
    await happened(fault, world, log);
    // If all processes are starting, an attack would have no target.
    if (fault.gap === 'starting') await untilLeased(world, leaseCount, pace);
    await sleep(pace.pauseMs.process * (0.5 + world.random()));
  }
}

/** @param {Attack} attack @param {() => boolean} isOver */
async function onStore(attack, isOver) {
  const { world, pace, log } = attack;
  const deal = dealer('store', attack);
  while (!isOver()) {
    const faults = deal();
    const all = await Promise.all(faults.map((fault) => happened(fault, world, log)));
    const entries = all.filter((entry) => entry !== undefined);
    for (const entry of entries.length > 1 ? entries : [])
      entry.besideName = entries.find((other) => other !== entry)?.fault.name;
    const { leaseCount } = world.fleet;
    const { quarantineMs } = world.topology;
    const pauseMs = pace.pauseMs.store * (0.5 + world.random());
    const isChanged = faults.some(({ changesServer = false }) => changesServer);
    await sleep(pauseMs + (isChanged ? quarantineMs : 0));
    await untilLeased(world, leaseCount, pace);
    for (const entry of entries) entry.grantCount = world.fleet.leaseCount - leaseCount;
  }
}

/** @param {World} world @param {number} leaseCount as it was @param {Pace} pace */
async function untilLeased({ fleet }, leaseCount, { grantMs }) {
  const endMs = monotonicMs() + grantMs;
  while (monotonicMs() < endMs && fleet.leaseCount === leaseCount) await sleep(50);
}

/**
 * Deals from a shuffled deck. A paired run adds a second fault that may overlap the first.
 * @param {Fault['level']} level
 * @param {Pick<Attack, 'faults' | 'world' | 'seed' | 'isPaired'>} attack
 * @returns {() => [Fault, ...Fault[]]}
 */
export function dealer(level, { faults, world, seed, isPaired = false }) {
  const known = faults.filter((fault) => fault.level === level);
  if (known.length === 0) throw new Error(`${world.topology.name} has no fault of that name.`);
  const random = randomOf(`${seed} ${level}`);
  /** @type {Fault[]} */
  let deck = [];
  return () => {
    if (deck.length === 0) deck = shuffled(known.flatMap(cardsOf), random);
    const fault = /** @type {Fault} */ (deck.pop());
    if (!isPaired) return [fault];
    const others = known.filter(({ beside }) => beside !== undefined && beside !== fault.beside);
    const other = others[Math.floor(random() * others.length)];
    return other === undefined ? [fault] : [fault, other];
  };
}

/**
 * Applies the fault. @param {Fault} fault @param {World} world @returns undefined if it could not
 * happen
 */
async function happened(fault, world, /** @type {Entry[]} */ log) {
  /** @type {Entry} */
  const entry = { fault, fromMs: monotonicMs(), toMs: Infinity, grantCount: 0 };
  const outcome = await fault.apply(world);
  if (outcome === false) return undefined;
  if (fault.level === 'process') entry.location = /** @type {any} */ (outcome)?.location;
  entry.toMs = monotonicMs();
  log.push(entry);
  return entry;
}

/** @returns {Fault[]} */
const cardsOf = (/** @type {Fault} */ fault) => Array(fault.cardCount ?? 1).fill(fault);

/** @template T @param {readonly T[]} list @param {() => number} random */
function shuffled(list, random) {
  return list
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
