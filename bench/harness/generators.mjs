// Generators without Nest, and the layouts that the groups measure with.
//
// Guarantee: a generator of this file has its worker id for ever, so that no lease takes part in a
// figure.
import { importCore } from './library.mjs';

const core = await importCore();

export const WORKER_ID = 7;

/** 41/10/12: 4096 ids for each millisecond. */
export const standardLayout = () => core.layouts.snowflake();

/** 41/4/18: 262,144 ids for each millisecond, more than any loop asks for. */
export const wideLayout = () =>
  new core.BitLayout({
    fields: [
      ['timestamp', 41],
      ['worker', 4],
      ['sequence', 18],
    ],
  });

/** As far ahead as under a lease: a worker id without end would wait for every spent tick. */
const AHEAD_MS_MAX = 1000;

export function newGenerator(layout = standardLayout(), { workerId = WORKER_ID, ...given } = {}) {
  const options = { aheadMsMax: AHEAD_MS_MAX, ...given };
  const window = new core.LeaseWindow(layout);
  window.grant({ workerId, floorMs: -Infinity, ceilingMs: Infinity });
  return new core.SnowflakeGenerator(window, options);
}
