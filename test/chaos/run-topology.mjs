/**
 * One topology under attack for a while: processes are started, faults dealt from a shuffled deck,
 * and all that was written down is checked.
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { libfaketime } from '../../scripts/servers/binaries.mjs';
import { checkFolder } from './checker.mjs';
import { FAULTS } from './faults.mjs';
import { Fleet } from './fleet.mjs';

/** @import { Fault, World } from './faults.mjs' */
/** @import { Gap } from './checker.mjs' */
/** @typedef {{ fault: Fault, place?: string, fromMs: number, toMs: number }} Entry */

/** As many as there are worker ids, so that each goes to the next process as soon as it is free. */
const PROCESS_COUNT = 8;
/** A process that is told to stop, or killed, leaves the rest some time to live on. */
const PAUSE_MS = { process: 600, store: 300 };
/** The first processes have their leases by then. */
const WARM_UP_MS = 2500;
/** A fault of a process shows within this time. */
const SOON_MS = 2000;

const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);

/**
 * @param {object} parts
 * @param {any} parts.topology
 * @param {string} parts.folder
 * @param {string} parts.app
 * @param {number} parts.seconds
 * @param {() => number} parts.random
 */
export async function runTopology({ topology, folder, app, seconds, random }) {
  const files = join(folder, 'processes');
  mkdirSync(files, { recursive: true });
  const support = await topology.start();
  const size = PROCESS_COUNT;
  const fleet = new Fleet({ app, folder: files, support, libfaketime: libfaketime(), size });
  /** @type {Entry[]} */
  const log = [];
  try {
    await sleep(WARM_UP_MS);
    const endMs = monotonicMs() + seconds * 1000;
    const world = { fleet, topology, random };
    await Promise.all([attack('process', world, endMs, log), attack('store', world, endMs, log)]);
    await fleet.stop();
  } finally {
    fleet.kill();
    await topology.stop();
  }
  const { gaps, ...checked } = checkFolder(files);
  return {
    topology: topology.name,
    seconds,
    processCount: fleet.startedCount,
    fileCount: readdirSync(files).length,
    exits: fleet.exits,
    ...checked,
    faults: faultRows(topology, log, gaps),
  };
}

/** @param {Fault['level']} level @param {World} world @param {number} endMs */
async function attack(level, world, endMs, /** @type {Entry[]} */ log) {
  const known = faultsOf(world.topology).filter((fault) => fault.level === level);
  /** @type {Fault[]} */
  let deck = [];
  while (monotonicMs() < endMs) {
    if (deck.length === 0) deck = shuffled(known.flatMap(cardsOf), world.random);
    const fault = /** @type {Fault} */ (deck.pop());
    /** @type {Entry} */
    const entry = { fault, fromMs: monotonicMs(), toMs: Infinity };
    log.push(entry);
    const member = await fault.apply(world);
    if (level === 'process') entry.place = /** @type {any} */ (member)?.place;
    entry.toMs = monotonicMs();
    const { quarantineMs } = world.topology;
    await sleep(
      PAUSE_MS[level] * (0.5 + world.random()) + (fault.changesServer ? quarantineMs : 0),
    );
  }
}

/** @returns {readonly Fault[]} those that all can have, and its own */
const faultsOf = (/** @type {{ name: string, faults?: readonly Fault[] }} */ topology) => [
  ...FAULTS.filter(({ only }) => only === undefined || only.includes(topology.name)),
  ...(topology.faults ?? []),
];

/** @returns {Fault[]} */
const cardsOf = (/** @type {Fault} */ fault) => Array(fault.cardCount ?? 1).fill(fault);

/** For each fault how often it was applied, and the longest time without ids that it caused. */
function faultRows(/** @type {any} */ topology, /** @type {Entry[]} */ log, gaps) {
  return faultsOf(topology).map((fault) => {
    const applied = log.filter((entry) => entry.fault === fault);
    const caused = gaps.filter((gap) => applied.some((entry) => isCauseOf(entry, gap)));
    const lengths = caused.map(({ fromMs, toMs }) => toMs - fromMs);
    return { name: fault.name, count: applied.length, longestGapMs: Math.max(0, ...lengths) };
  });
}

/** The fault befell this process, or the store while this process was refused ids. */
function isCauseOf(/** @type {Entry} */ { fault, place, fromMs, toMs }, /** @type {Gap} */ gap) {
  if (fault.level === 'store')
    return gap.error !== 'none' && fromMs < gap.toMs && gap.fromMs < toMs;
  const isSoon = gap.fromMs > fromMs - SOON_MS && gap.fromMs < fromMs + SOON_MS;
  return place === gap.place && isSoon && (fault.gap ?? gap.error) === gap.error;
}

/** @template T @param {readonly T[]} list @param {() => number} random */
function shuffled(list, random) {
  return list
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
