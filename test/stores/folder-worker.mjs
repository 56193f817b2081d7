/**
 * A process that makes ids under a lease from a folder, or under a fixed number, and tells them.
 */
import { writeSync } from 'node:fs';
import { folderSupport } from './lib/stores/host/index.js';
import { layouts } from './lib/core/layout/presets.js';
import { StaticSupport } from './lib/lease/static.support.js';
// Not by the front door: each of many processes would load all that is behind it.
import { startSnowflake } from './lib/nest/start-snowflake.js';

const { folder, workerId, fromMs } = JSON.parse(process.env.WORKER);
const startedMs = Date.now();
let readCount = 0;
/**
 * Under a fixed number each reading is a millisecond, so that two processes go through the same
 * times however fast the machine is; with a folder the clock is of a host that is wrong by so much.
 */
const clock = {
  now: () => {
    if (fromMs === undefined) return Date.now();
    return fromMs + (folder === undefined ? readCount++ : Date.now() - startedMs);
  },
};
const snowflake = await startSnowflake({
  support: folder === undefined ? new StaticSupport(workerId) : folderSupport({ folder, clock }),
  ...(folder !== undefined && workerId !== undefined && { workerId }),
  layout: layouts.twitter(),
  workerFields: { datacenter: 0 },
  clock,
  leaseTtlMs: 10_000,
  refreshAliveIntervalMs: 100,
  callTimeoutMs: 5000,
  reserveMs: 1000,
});
process.once('SIGTERM', () => void end());

let isEnding = false;

async function end() {
  isEnding = true;
  await snowflake.close();
}

const LINE_COUNT = 20;

function make() {
  if (isEnding) return;
  const ids = Array.from({ length: LINE_COUNT }, () => snowflake.ids.nextIdString());
  writeSync(1, `${ids.join(' ')}\n`);
  setTimeout(make, 2);
}
make();
