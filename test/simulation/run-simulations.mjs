/**
 * Runs simulations on all cores, in the order given, until there are no more or enough was seen.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { BROKEN_VARIANTS, SAFE_VARIANTS } from '../mutants/mutants.mjs';

/** @import { Answer, Question, Run } from './simulation-worker.mjs' */
/** @import { SimulationReport, StoreEvent } from './world/index.js' */
/** @import { Edit, Mutant } from '../mutants/load-library.mjs' */

// Threads that run simulations, kept for the next ones: a thread takes longer to start than most
// mutants take to die.

export class SimulationThreads {
  /** @type {Worker[]} */
  #all = [];
  /** @type {Worker[]} */
  #idle = [];

  /**
   * Has a question answered by a thread that is idle, or by a new one.
   *
   * @returns {Promise<Answer>}
   */
  async ask(/** @type {Question} */ question) {
    const worker = this.#idle.pop() ?? this.#started();
    const answer = await new Promise((resolve, reject) => {
      worker.removeAllListeners();
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(question);
    });
    // One that has thrown is gone.
    this.#idle.push(worker);
    return answer;
  }

  async close() {
    await Promise.all(this.#all.map((worker) => worker.terminate()));
  }

  #started() {
    const worker = new Worker(new URL('simulation-worker.mjs', import.meta.url));
    this.#all.push(worker);
    return worker;
  }
}

/** Code that is new runs slowly at first: a thread more has to be worth that. */
const RUNS_PER_THREAD = 60;

/** @typedef {(report: SimulationReport, events: StoreEvent[]) => boolean | void} OnReport */

/**
 * @param {readonly Run[]} runs
 * @param {object} options
 * @param {readonly Edit[]} [options.edits] of a mutant
 * @param {SimulationThreads} [options.threads] default: new ones, closed in the end
 * @param {boolean} [options.records] whether `onReport` is given what the registry was asked
 * @param {OnReport} options.onReport true ends it
 * @returns {Promise<void>}
 */
export async function runSimulations(runs, options) {
  const worthCount = Math.ceil(runs.length / RUNS_PER_THREAD);
  const threadCount = Math.min(availableParallelism(), worthCount);
  const { edits = [], records = false, threads = new SimulationThreads(), onReport } = options;
  const queue = runs.values();
  let isOver = false;
  const work = async () => {
    for (const run of queue) {
      if (isOver) return;
      const { report, events } = await threads.ask({ run, edits, records });
      if (!isOver && onReport(report, events) === true) isOver = true;
    }
  };
  try {
    await Promise.all(Array.from({ length: threadCount }, work));
  } finally {
    if (threads !== options.threads) await threads.close();
  }
}

// Tries mutants in the simulation: a broken variant must be seen to break the promise of
// uniqueness, a safe one must not be.

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
