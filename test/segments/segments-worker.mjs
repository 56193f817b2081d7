/**
 * A process that makes numbers of a counter and tells them, until it is ended or killed.
 */
import { writeSync } from 'node:fs';
import { MemoryCounters } from './lib/stores/memory/memory-counters.js';
import { segments } from './lib/counters/index.js';
// Not by the front door: each of many processes would load all that is behind it.
import { startSnowflake } from './lib/nest/start-snowflake.js';

const { generator } = JSON.parse(process.env.WORKER);
const inMemory = () =>
  segments({ store: new MemoryCounters(), counter: 'order', startAt: 1n, stepMin: 50 });
const snowflake = await startSnowflake({
  generator: generator ?? inMemory(),
  callTimeoutMs: 20_000,
  startTimeoutMs: 120_000,
});
process.once('SIGTERM', () => void end());

let isEnding = false;

async function end() {
  isEnding = true;
  await snowflake.close();
}

const LINE_COUNT = 20;

async function make() {
  if (isEnding) return;
  const ids = [];
  try {
    while (ids.length < LINE_COUNT) ids.push(await snowflake.ids.nextIdAsync());
  } catch (error) {
    if (!isEnding) throw error;
  }
  writeSync(1, `${ids.join(' ')}\n`);
  setTimeout(() => void make(), 2);
}
void make();
