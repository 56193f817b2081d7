/**
 * A thread that runs simulations of the library as it is, or of a mutant of it.
 * It answers each message with the report, and with what the registry was asked, where wanted.
 */
import { parentPort } from 'node:worker_threads';
import { loadSimulation } from '../mutants/load-library.mjs';

/** @import { SimulationReport, StoreEvent } from './world/index.js' */
/** @import { Edit } from '../mutants/load-library.mjs' */
/** @typedef {{ seed: number, scenario: string, rows?: boolean }} Run */
/** @typedef {{ run: Run, edits: readonly Edit[], records: boolean }} Question */
/** @typedef {{ report: SimulationReport, events: StoreEvent[] }} Answer */

// A fleet is refused ids by the thousand, each time with an error whose trace nobody reads.
Error.stackTraceLimit = 0;

/** @type {Map<string, ReturnType<typeof loadSimulation>>} by the text of the edits */
const loaded = new Map();

function simulationOf(/** @type {readonly Edit[]} */ edits) {
  const text = JSON.stringify(edits);
  const simulation = loaded.get(text) ?? loadSimulation(edits);
  loaded.set(text, simulation);
  return simulation;
}

async function answer(/** @type {Question} */ { run, edits, records }) {
  /** @type {StoreEvent[]} */
  const events = [];
  const keep = (/** @type {StoreEvent} */ event) => void events.push(event);
  const { simulate } = await simulationOf(edits);
  const report = await simulate({ ...run, record: records ? keep : undefined });
  parentPort?.postMessage({ report, events });
}

parentPort?.on('message', (question) => void answer(question));
