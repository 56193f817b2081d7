/**
 * One topology under attack for a while: processes are started, faults dealt from a shuffled deck,
 * and all that was written down is checked.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { libfaketime } from '../../scripts/servers/binaries.mjs';
import { checkFolder } from './report.mjs';
import { FAULTS } from './faults.mjs';
import { Fleet } from './fleet.mjs';
import { REDIS_PACE } from './fault.mjs';
import { packageOf } from './rules.mjs';

/** @import { Fault, World } from './fault.mjs' */
/** @import { Gap } from './report.mjs' */
/** @import { Pace } from './fault.mjs' */
/**
 * @typedef {object} Entry a fault that happened
 * @property {Fault} fault
 * @property {string} [place]
 * @property {number} fromMs
 * @property {number} toMs
 * @property {number} grantCount worker ids leased from its end to the beginning of the next one
 */

/** The first processes have their leases by then. */
const WARM_UP_MS = 2500;
/** A fault of a process shows within this time. */
const SOON_MS = 2000;
/** So often it is looked whether processes may be attacked again. */
const CALM_MS = 100;
/** On a slow machine each fault has its turn, and enough is made, in so much more time. */
const OVERTIME_MS = 240_000;

/** A run that made fewer proves nothing, so it goes on until it has made as many. */
const LEAST = { ids: 1000, leases: 8 };
/** What is found, in words. */
const WORDS = {
  made: 'ids',
  twice: 'duplicates',
  back: 'out of order',
  stretch: 'ids',
  good: 'No id was made twice, and none went back.',
};

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
  const support = await topology.start({ app, files });
  const pace = /** @type {Pace} */ (topology.pace ?? REDIS_PACE);
  const settings = {
    CHAOS_WORKER_BITS: String(pace.workerBits),
    CHAOS_CALL_TIMEOUT_MS: String(pace.callTimeoutMs),
    CHAOS_CLIENT: packageOf(topology.client),
    ...topology.settings,
  };
  const { hasOneClock = false, worker = 'worker.mjs', grants = 'leases' } = topology;
  const own = {
    worker,
    libfaketime: libfaketime(),
    size: pace.processCount,
    settings,
    hasOneClock,
  };
  const fleet = new Fleet({ app, folder: files, support, ...own });
  /** @type {Entry[]} */
  const log = [];
  const { check = (/** @type {string} */ path) => checkFolder(path, pace.workerBits) } = topology;
  const { least = LEAST } = topology;
  const isThin = (/** @type {{ idCount: number, leaseCount: number }} */ made) =>
    made.idCount < least.ids || made.leaseCount < least.leases;
  const isEnough = () => !isThin(check(files));
  try {
    await sleep(WARM_UP_MS);
    await attackAll({ world: { fleet, topology, random }, pace, seconds, log, isEnough });
    await fleet.stop();
  } finally {
    fleet.kill();
    // With the times that processes write down, by which one finds what led to what.
    writeFileSync(join(folder, 'faults.json'), JSON.stringify(log, null, 1));
    await topology.stop();
  }
  const { gaps, ...checked } = check(files);
  return {
    topology: topology.name,
    note: topology.note,
    /** Where no rule can keep things from being twice. */
    toleratesTwice: topology.toleratesTwice === true,
    words: { ...WORDS, ...topology.words },
    least,
    /** Whether too little was made to prove anything. */
    isThin: isThin(checked),
    isPaced: pace.grantMs > 0,
    grants,
    /** What must not be, besides ids made twice. @type {readonly string[]} */
    breaches: topology.breaches ?? [],
    seconds,
    processCount: fleet.startedCount,
    fileCount: readdirSync(files).length,
    exits: fleet.exits,
    ...checked,
    faults: faultRows(topology, log, gaps),
  };
}

/**
 * Processes are attacked as long as the store is, and until each fault has happened and enough was
 * made.
 * @typedef {{ world: World, pace: Pace, seconds: number, log: Entry[], isEnough: () => boolean }}
 *   Attack
 * @param {Attack} attack
 */
async function attackAll(attack) {
  const startMs = monotonicMs();
  const { world, seconds, log, isEnough } = attack;
  const wanted = faultsOf(world.topology);
  const isDone = () => wanted.every((fault) => log.some((entry) => entry.fault === fault));
  const isOver = () => {
    const overtimeMs = monotonicMs() - startMs - seconds * 1000;
    return overtimeMs > OVERTIME_MS || (overtimeMs > 0 && isDone() && isEnough());
  };
  await Promise.all([onProcesses(attack, isOver), onStore(attack, isOver)]);
}

/** @param {Attack} attack @param {() => boolean} isOver */
async function onProcesses({ world, pace, log }, isOver) {
  const deal = dealer('process', world);
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
async function onStore({ world, pace, log }, isOver) {
  const deal = dealer('store', world);
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

/** One after the other from a shuffled deck. @param {Fault['level']} level @param {World} world */
function dealer(level, world) {
  const known = faultsOf(world.topology).filter((fault) => fault.level === level);
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

/** @returns {readonly Fault[]} those that all can have, and its own */
const faultsOf = (/** @type {any} */ { name, hasOneClock = false, faults = [], faultWords = '' }) =>
  [
    ...FAULTS.filter(({ only }) => only === undefined || only.includes(name)).filter(
      ({ setsOneClock = false }) => !(setsOneClock && hasOneClock),
    ),
    ...faults,
  ].filter(({ level, name: fault }) => {
    return level === 'process' || faultWords.split('|').some((words) => fault.includes(words));
  });

/** @returns {Fault[]} */
const cardsOf = (/** @type {Fault} */ fault) => Array(fault.cardCount ?? 1).fill(fault);

/** For each fault how often it happened, the grants after it, the longest time without ids. */
function faultRows(/** @type {any} */ topology, /** @type {Entry[]} */ log, gaps) {
  return faultsOf(topology).map((fault) => {
    const applied = log.filter((entry) => entry.fault === fault);
    const caused = gaps.filter((gap) => applied.some((entry) => isCauseOf(entry, gap)));
    const lengths = caused.map(({ fromMs, toMs }) => toMs - fromMs);
    const grantCount = applied.reduce((sum, entry) => sum + entry.grantCount, 0);
    const { name, level } = fault;
    const count = applied.length;
    return { name, level, count, grantCount, longestGapMs: Math.max(0, ...lengths) };
  });
}

/** The fault befell this process, or the store while this process was refused ids. */
function isCauseOf(/** @type {Entry} */ { fault, location, fromMs, toMs }, /** @type {Gap} */ gap) {
  if (fault.level === 'store')
    return gap.error !== 'none' && fromMs < gap.toMs && gap.fromMs < toMs;
  const isSoon = gap.fromMs > fromMs - SOON_MS && gap.fromMs < fromMs + SOON_MS;
  return location === gap.location && isSoon && (fault.gap ?? gap.error) === gap.error;
}

/** @template T @param {readonly T[]} list @param {() => number} random */
function shuffled(list, random) {
  return list
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
