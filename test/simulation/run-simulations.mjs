/**
 * Runs simulations on all cores, in the order given, until there are no more or enough was seen.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** @import { SimulationReport, StoreEvent } from './world/index.js' */
/** @import { Edit } from '../mutants/load-library.mjs' */
/** @import { Run } from './simulation-worker.mjs' */

/** @typedef {(report: SimulationReport, events: StoreEvent[]) => boolean | void} OnReport */

/**
 * @param {readonly Run[]} runs
 * @param {object} options
 * @param {readonly Edit[]} [options.edits] of a mutant
 * @param {number} [options.threadCount] default: one a core
 * @param {boolean} [options.records] whether `onReport` is given what the registry was asked
 * @param {OnReport} options.onReport true ends it
 * @returns {Promise<void>}
 */
export async function runSimulations(runs, options) {
  const { edits = [], records = false, threadCount = availableParallelism(), onReport } = options;
  const queue = runs.values();
  let isOver = false;
  const work = async () => {
    const worker = new Worker(new URL('simulation-worker.mjs', import.meta.url), {
      workerData: { edits, records },
    });
    try {
      for (const run of queue) {
        if (isOver) return;
        const { report, events } = await answerOf(worker, run);
        if (!isOver && onReport(report, events) === true) isOver = true;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(threadCount, runs.length) }, work));
}

/** @returns {Promise<{ report: SimulationReport, events: StoreEvent[] }>} */
function answerOf(/** @type {Worker} */ worker, /** @type {Run} */ run) {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.postMessage(run);
  });
}
