/**
 * Runs simulations on all cores, in the order given, until there are no more or enough was seen.
 */
import { availableParallelism } from 'node:os';
import { SimulationThreads } from './simulation-threads.mjs';

/** @import { SimulationReport, StoreEvent } from './world/index.js' */
/** @import { Edit } from '../mutants/load-library.mjs' */
/** @import { Run } from './simulation-worker.mjs' */

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
