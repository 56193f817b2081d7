/**
 * Clients are led to another server and back to the first one, which was never restarted: it shows
 * no sign of what the other one granted in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { storeFault } from './stores/store-fault.mjs';

/** @import { World } from './fault.mjs' */
/** @typedef {import('./fleet.mjs').Member} Member */

/** How long a process may take to be granted something, on a busy machine. */
const GRANT_MS_MAX = 30_000;
/** Longer than any process stands still that was told to before. */
const STILL_MS = 11_000;
/** All have asked once by then. */
const ASKED_MS = 3000;

/**
 * @param {World} world
 * @param {boolean} newcomerFirst whether all that were answered by the other server stand still
 *   while one that was never answered asks the first; else nobody is new
 */
async function thereAndBack({ fleet, topology, random }, newcomerFirst) {
  topology.isCalm = true;
  /** @type {Member[]} */
  let still = [];
  try {
    await sleep(STILL_MS);
    await topology.away();
    const granted = fleet.next('lease', GRANT_MS_MAX);
    fleet.any(random)?.kill('SIGKILL');
    if ((await granted) === undefined) return false;
    await sleep(ASKED_MS);
    if (newcomerFirst) still = [...fleet.members];
    for (const member of still) member.kill('SIGSTOP');
    await topology.back();
    const newcomer = fleet.next('lease', GRANT_MS_MAX);
    if (newcomerFirst) still[Math.floor(random() * still.length)]?.kill('SIGKILL');
    await (newcomerFirst ? Promise.race([newcomer, sleep(STILL_MS)]) : undefined);
    for (const member of still) member.kill('SIGCONT');
    await sleep(ASKED_MS);
    return true;
  } finally {
    for (const member of still) member.kill('SIGCONT');
    topology.isCalm = false;
  }
}

/** Of every topology that can lead `away` and `back`. */
export const SURVIVORS_FIRST = storeFault('there and back, survivors first', (_, world) =>
  thereAndBack(world, false),
);
/** Where nothing but whoever was answered by the other server can tell, no rule helps. */
export const NEWCOMER_FIRST = storeFault('there and back, newcomer first', (_, world) =>
  thereAndBack(world, true),
);
export const THERE_AND_BACK = [SURVIVORS_FIRST, NEWCOMER_FIRST];
