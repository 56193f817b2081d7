/**
 * A thread that runs simulations of the library as it is, or of a mutant of it.
 * It answers each message with the report, and with what the registry was asked, where wanted.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { loadSimulation } from '../mutants/load-library.mjs';

/** @import { StoreEvent } from './world/index.js' */
/** @typedef {{ seed: number, scenario: string, rows?: boolean }} Run */

// A fleet is refused ids by the thousand, each time with an error whose trace nobody reads.
Error.stackTraceLimit = 1;

const { simulate } = await loadSimulation(workerData.edits);

async function answer(/** @type {Run} */ run) {
  /** @type {StoreEvent[]} */
  const events = [];
  const keep = (/** @type {StoreEvent} */ event) => void events.push(event);
  const record = workerData.records ? keep : undefined;
  parentPort?.postMessage({ report: await simulate({ ...run, record }), events });
}

parentPort?.on('message', (run) => void answer(run));
