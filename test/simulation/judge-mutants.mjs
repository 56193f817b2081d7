/**
 * Tries mutants in the simulation: a broken variant must be seen to break the promise of
 * uniqueness, a safe one must not be.
 */
import { BROKEN_VARIANTS, SAFE_VARIANTS } from '../mutants/mutants.mjs';
import { runSimulations } from './run-simulations.mjs';
import { SimulationThreads } from './simulation-threads.mjs';

/** @import { Mutant } from '../mutants/load-library.mjs' */
/** @import { Run } from './simulation-worker.mjs' */

/**
 * @typedef {object} Verdict
 * @property {string} name
 * @property {boolean} isKilled
 * @property {boolean} isAsExpected
 * @property {number} triedCount runs up to the one that killed it
 * @property {string} killedBy the run
 * @property {string} seen which violation
 */

/** Without ids for a while, a fleet is not happy, but no id was made twice. */
const HARMLESS = new Set(['liveness']);

/** Seed by seed through all scenarios, so that each kind of fault comes early. */
export function runsOf(/** @type {readonly string[]} */ scenarios, /** @type {number[]} */ seeds) {
  return seeds.flatMap((seed) => scenarios.map((scenario) => ({ seed, scenario })));
}

/**
 * @param {readonly Run[]} runs
 * @param {(verdict: Verdict) => void} onVerdict
 * @param {(name: string) => boolean} [isWanted]
 */
export async function judgeMutants(runs, onVerdict, isWanted = () => true) {
  const threads = new SimulationThreads();
  for (const mutant of BROKEN_VARIANTS.filter(({ name }) => isWanted(name))) {
    onVerdict(await judgeMutant(mutant, runs, { shouldDie: true, threads }));
  }
  for (const mutant of SAFE_VARIANTS.filter(({ name }) => isWanted(name))) {
    onVerdict(await judgeMutant(mutant, runs, { shouldDie: false, threads }));
  }
  await threads.close();
}

/**
 * @param {Mutant} mutant
 * @param {readonly Run[]} runs
 * @param {{ shouldDie: boolean, threads: SimulationThreads }} around
 * @returns {Promise<Verdict>}
 */
export async function judgeMutant({ name, edits, tryFirst, skips = [] }, runs, around) {
  const { shouldDie, threads } = around;
  const fair = runs.filter(({ scenario }) => !skips.includes(scenario));
  const [first, ...others] = tryFirst ? [tryFirst, ...fair] : fair;
  let triedCount = 0;
  let killedBy = '';
  let seen = '';
  const tryAll = (/** @type {readonly Run[]} */ tried) =>
    runSimulations(tried, {
      edits,
      threads,
      onReport({ scenario, seed, violations }) {
        triedCount++;
        const violation = violations.find(({ kind }) => !HARMLESS.has(kind));
        if (violation) [killedBy, seen] = [`${scenario} ${seed}`, violation.kind];
        return violation !== undefined;
      },
    });
  // Nearly all that should die die of the first, for which one thread is enough.
  if (first) await tryAll([first]);
  if (killedBy === '') await tryAll(others);
  const isKilled = killedBy !== '';
  return { name, isKilled, isAsExpected: isKilled === shouldDie, triedCount, killedBy, seen };
}
