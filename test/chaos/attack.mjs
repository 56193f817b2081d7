/**
 * The attack of a run: faults of processes and of the store, dealt from shuffled decks, until its
 * time is over and it proves something.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** @import { Fault, Pace, World } from './fault.mjs' */

/**
 * @typedef {object} Entry a fault that happened
 * @property {Fault} fault
 * @property {string} [location]
 * @property {number} fromMs
 * @property {number} toMs
 * @property {number} grantCount worker ids leased from its end to the beginning of the next one
 */

/** So often it is looked whether processes may be attacked again. */
const CALM_MS = 100;
/** On a slow machine each fault has its turn, and enough is made, in so much more time. */
const OVERTIME_MS = 240_000;

const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);

/**
 * Processes are attacked as long as the store is, and until each fault has happened and enough was
 * made.
 * @typedef {object} Attack
 * @property {World} world
 * @property {readonly Fault[]} faults
 * @property {Pace} pace
 * @property {number} seconds
 * @property {Entry[]} log
 * @property {() => boolean} isEnough
 *
 * @param {Attack} attack
 */
export async function attackAll(attack) {
  const startMs = monotonicMs();
  const { faults, seconds, log, isEnough } = attack;
  const isDone = () => faults.every((fault) => log.some((entry) => entry.fault === fault));
  const isOver = () => {
    const overtimeMs = monotonicMs() - startMs - seconds * 1000;
    return overtimeMs > OVERTIME_MS || (overtimeMs > 0 && isDone() && isEnough());
  };
  await Promise.all([onProcesses(attack, isOver), onStore(attack, isOver)]);
}

/** @param {Attack} attack @param {() => boolean} isOver */
async function onProcesses({ world, faults, pace, log }, isOver) {
  const deal = dealer('process', faults, world);
  while (!isOver()) {
    // Whoever comes, ends or stands still is decided by a fault of the store then.
    if (world.topology.isCalm) {
      await sleep(CALM_MS);
      continue;
    }
    const fault = deal();
    const { leaseCount } = world.fleet;
    await happened(fault, world, log);
    // Where all of them are just starting, nobody is there to be attacked.
    if (fault.gap === 'starting') await untilLeased(world, leaseCount, pace);
    await sleep(pace.pauseMs.process * (0.5 + world.random()));
  }
}

/** @param {Attack} attack @param {() => boolean} isOver */
async function onStore({ world, faults, pace, log }, isOver) {
  const deal = dealer('store', faults, world);
  while (!isOver()) {
    const fault = deal();
    const entry = await happened(fault, world, log);
    const { leaseCount } = world.fleet;
    const { quarantineMs } = world.topology;
    const pauseMs = pace.pauseMs.store * (0.5 + world.random());
    await sleep(pauseMs + (fault.changesServer ? quarantineMs : 0));
    await untilLeased(world, leaseCount, pace);
    if (entry !== undefined) entry.grantCount = world.fleet.leaseCount - leaseCount;
  }
}

/** @param {World} world @param {number} leaseCount as it was @param {Pace} pace */
async function untilLeased({ fleet }, leaseCount, { grantMs }) {
  const endMs = monotonicMs() + grantMs;
  while (monotonicMs() < endMs && fleet.leaseCount === leaseCount) await sleep(50);
}

/**
 * One after the other from a shuffled deck.
 * @param {Fault['level']} level
 * @param {readonly Fault[]} faults
 * @param {World} world
 */
function dealer(level, faults, world) {
  const known = faults.filter((fault) => fault.level === level);
  if (known.length === 0) throw new Error(`${world.topology.name} has no fault of that name.`);
  /** @type {Fault[]} */
  let deck = [];
  return () => {
    if (deck.length === 0) deck = shuffled(known.flatMap(cardsOf), world.random);
    return /** @type {Fault} */ (deck.pop());
  };
}

/** Applies it. @param {Fault} fault @param {World} world @returns undefined if it could not be */
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
