/**
 * A thread that runs simulations of the library as it is, or of a mutant of it.
 * It answers each message with one report.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { loadLibrary } from '../mutants/load-library.mjs';

/** @typedef {{ seed: number, scenario: string }} Run */

const { simulate } = await loadLibrary(workerData.edits);

parentPort?.on('message', async (/** @type {Run} */ run) => {
  parentPort?.postMessage(await simulate(run));
});
