/**
 * Runs simulations on all cores, in the order given, until there are no more or enough was seen.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** @import { SimulationReport } from '../../lib/testing/index.js' */
/** @import { Edit } from '../mutants/load-library.mjs' */
/** @import { Run } from './simulation-worker.mjs' */

/**
 * @param {readonly Run[]} runs
 * @param {object} options
 * @param {readonly Edit[]} [options.edits] of a mutant
 * @param {number} [options.threadCount] default: one a core
 * @param {(report: SimulationReport) => boolean | void} options.onReport true ends it
 * @returns {Promise<void>}
 */
export async function runSimulations(runs, options) {
  const { edits = [], threadCount = availableParallelism(), onReport } = options;
  const queue = runs.values();
  let isOver = false;
  const work = async () => {
    const worker = new Worker(new URL('simulation-worker.mjs', import.meta.url), {
      workerData: { edits },
    });
    try {
      for (const run of queue) {
        if (isOver) return;
        const report = await answerOf(worker, run);
        if (!isOver && onReport(report) === true) isOver = true;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(threadCount, runs.length) }, work));
}

/** @returns {Promise<SimulationReport>} */
function answerOf(/** @type {Worker} */ worker, /** @type {Run} */ run) {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.postMessage(run);
  });
}
