/**
 * A process that makes ids under a lease of the store it is told, all the time. Each id goes to
 * descriptor 3 as eight bytes, each call that was refused to standard error.
 */
import { writeSync } from 'node:fs';
// Not by the front door: each of many processes would load all that is behind it.
import { startSnowflake } from './lib/nest/start-snowflake.js';

const { SUPPORT } = process.env;
const EVERY_MS = 20;
const COUNT = 40;

const snowflake = await startSnowflake({
  support: SUPPORT,
  leaseTtlMs: 10_000,
  refreshAliveIntervalMs: 1000,
  reserveMs: 1000,
});
let isEnding = false;
process.once('SIGTERM', () => {
  isEnding = true;
  void snowflake.close();
});

function make() {
  if (isEnding) return;
  const made = new BigUint64Array(COUNT);
  try {
    snowflake.ids.fill(made);
    writeSync(3, new Uint8Array(made.buffer));
  } catch (error) {
    writeSync(2, `REFUSED ${error.code} ${error.message}\n`);
  }
  setTimeout(make, EVERY_MS);
}

make();
