/**
 * A process that makes numbers of a counter and tells them, until it is ended or killed.
 */
import { writeSync } from 'node:fs';
import { MemoryCounters } from './lib/stores/memory/memory-counters.js';
import { startRedisIds } from './lib/nest/redis-ids/index.js';
// Not by the front door: each of many processes would load all that is behind it.
import { startSegments } from './lib/nest/segments/index.js';

const { segments, redisIds } = JSON.parse(process.env.WORKER);
const inMemory = () => ({
  store: new MemoryCounters(),
  counter: 'order',
  startAt: 1n,
  stepMin: 50,
});
const start = redisIds === undefined ? startSegments : startRedisIds;
const snowflake = await start({
  ...(redisIds ?? segments ?? inMemory()),
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
