/**
 * Attacks one topology for a while: starts processes, deals faults from a shuffled deck, and checks
 * all records.
 */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { libfaketime } from '../../scripts/servers/binaries.mjs';
import { attackAll, randomOf } from './attack.mjs';
import { checkFolder } from './report.mjs';
import { FAULTS } from './faults.mjs';
import { Fleet, PREVIOUS } from './fleet.mjs';
import { REDIS_PACE } from './fault.mjs';
import { packageOf } from './rules.mjs';

/** @import { Entry } from './attack.mjs' */
/** @import { Gap } from './report.mjs' */
/** @import { Fault, Pace } from './fault.mjs' */

/** The first processes have their leases by then. */
const WARM_UP_MS = 2500;
/** A process fault takes effect within this time. */
const SOON_MS = 2000;

/** A run with fewer proves nothing, so it continues until it has as many. */
const LEAST = { ids: 1000, leases: 8 };
/** Errors, in words. */
const WORDS = {
  made: 'ids',
  twice: 'duplicates',
  back: 'out of order',
  stretch: 'ids',
  good: 'No id was generated twice, and none went back.',
};

/**
 * @param {object} parts
 * @param {any} parts.topology
 * @param {string} parts.folder
 * @param {string} parts.app
 * @param {number} parts.seconds
 * @param {string} parts.seed
 * @param {boolean} parts.isPaired whether two faults hit the store at once
 * @param {number} [parts.goal] as many grants are enough; the seconds are then a limit
 */
export async function runTopology({ topology, folder, app, seconds, seed, isPaired, goal }) {
  const files = join(folder, 'processes');
  mkdirSync(files, { recursive: true });
  const support = await topology.start({ app, files });
  const { pace = REDIS_PACE } = topology;
  const { grants = 'leases' } = topology;
  const fleet = fleetOf(topology, pace, { app, folder: files, support });
  /** @type {Entry[]} */
  const log = [];
  const { check = (/** @type {string} */ path) => checkFolder(path, pace.workerBits) } = topology;
  const least = leastOf(topology, goal);
  const isThin = (/** @type {{ idCount: number, leaseCount: number }} */ made) =>
    made.idCount < least.ids ||
    made.leaseCount < least.leases ||
    (topology.previousApp && least.leases > 2 * Math.min(...leasesByBuild(fleet)));
  const isEnough = () => fleet.leaseCount >= least.leases && !isThin(check(files));
  const faults = faultsOf(topology);
  try {
    await sleep(WARM_UP_MS);
    const world = { fleet, topology, random: randomOf(`${seed} faults`) };
    const order = { seed, isPaired, seconds, isUntil: goal !== undefined, log, isEnough };
    await attackAll({ world, faults, pace, ...order });
    await topology.lastly?.(fleet);
    await fleet.stop();
  } finally {
    fleet.kill();
    // The times match those in the records, and help to find causes.
    writeFileSync(join(folder, 'faults.json'), JSON.stringify(log, null, 1));
    await topology.stop();
  }
  const { gaps, ...checked } = check(files);
  return {
    topology: topology.name,
    note: topology.note,
    /** If no rule can prevent duplicates. */
    toleratesTwice: topology.toleratesTwice === true,
    words: { ...WORDS, ...topology.words },
    least,
    isThin: isThin(checked),
    isPaced: pace.grantMs > 0,
    grants,
    /** Errors besides duplicate IDs. @type {readonly string[]} */
    breaches: topology.breaches ?? [],
    seconds,
    processCount: fleet.startedCount,
    previous: topology.previousApp && {
      processCount: filesOfPrevious(files, '.log').length,
      leaseCount: fleet.previousLeaseCount,
      idCount: sizeOf(filesOfPrevious(files, '.ids')) / BYTES_OF_ID,
    },
    fileCount: readdirSync(files).length,
    exits: fleet.exits,
    ...checked,
    pairCount: log.filter(({ besideName }) => besideName !== undefined).length / 2,
    faults: faultRows(topology, log, gaps),
  };
}

const leastOf = (
  /** @type {{ least?: typeof LEAST }} */ { least = LEAST },
  /** @type {number | undefined} */ goal,
) => (goal === undefined ? least : { ...least, leases: goal });
const leasesByBuild = (/** @type {Fleet} */ { leaseCount, previousLeaseCount }) => [
  previousLeaseCount,
  leaseCount - previousLeaseCount,
];
const BYTES_OF_ID = 8;
const filesOfPrevious = (/** @type {string} */ folder, /** @type {string} */ ending) =>
  readdirSync(folder)
    .filter((name) => name.startsWith(PREVIOUS) && name.endsWith(ending))
    .map((name) => join(folder, name));
const sizeOf = (/** @type {readonly string[]} */ paths) =>
  paths.reduce((sum, path) => sum + statSync(path).size, 0);

/** @param {any} topology @param {Pace} pace */
function fleetOf(
  topology,
  pace,
  /** @type {Record<'app' | 'folder' | 'support', string>} */ place,
) {
  const { hasOneClock = false, worker = 'worker.mjs', previousApp } = topology;
  const settings = {
    // A move of the layout needs half of the worker IDs, including those that are not free yet.
    CHAOS_WORKER_BITS: String(pace.workerBits + (previousApp ? 2 : 0)),
    CHAOS_CALL_TIMEOUT_MS: String(pace.callTimeoutMs),
    CHAOS_CLIENT: packageOf(topology.client),
    ...topology.settings,
  };
  const size = pace.processCount;
  const own = { worker, previousApp, libfaketime: libfaketime(), size, settings, hasOneClock };
  return new Fleet({ ...place, ...own });
}

/** @returns {readonly Fault[]} the common faults, and its own */
const faultsOf = (
  /** @type {any} */ { name, previousApp, hasOneClock = false, faults = [], faultWords = '' },
) =>
  [
    ...FAULTS.filter(({ only }) => only === undefined || only.includes(name))
      .filter(({ setsOneClock = false }) => !(setsOneClock && hasOneClock))
      .filter(({ ofTwoBuilds = false }) => !ofTwoBuilds || previousApp !== undefined),
    ...faults,
  ].filter(({ level, name: fault }) => {
    return level === 'process' || faultWords.split('|').some((words) => fault.includes(words));
  });

/** For each fault: its count, the grants after it, and the longest gap without IDs. */
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

/** The fault hit this process, or the store while this process got no IDs. */
function isCauseOf(/** @type {Entry} */ { fault, location, fromMs, toMs }, /** @type {Gap} */ gap) {
  if (fault.level === 'store')
    return gap.error !== 'none' && fromMs < gap.toMs && gap.fromMs < toMs;
  const isSoon = gap.fromMs > fromMs - SOON_MS && gap.fromMs < fromMs + SOON_MS;
  return location === gap.location && isSoon && (fault.gap ?? gap.error) === gap.error;
}
