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
 * @param {{ away: () => Promise<void>, back: () => Promise<void>, newcomerFirst: boolean }} steps
 *   with `newcomerFirst` whoever was answered by the other server stands still while one that was
 *   never answered asks the first; else all were answered by the other one, and nobody is new
 */
async function thereAndBack({ fleet, topology, random }, { away, back, newcomerFirst }) {
  topology.isCalm = true;
  /** @type {Member[]} */
  let still = [];
  try {
    await sleep(STILL_MS);
    await away();
    const granted = fleet.next('lease', GRANT_MS_MAX);
    fleet.any(random)?.kill('SIGKILL');
    if ((await granted) === undefined) return false;
    await sleep(ASKED_MS);
    if (newcomerFirst) still = [...fleet.members];
    for (const member of still) member.kill('SIGSTOP');
    await back();
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

const led = (/** @type {string} */ name, newcomerFirst = false) =>
  storeFault(name, (topology, world) =>
    thereAndBack(world, {
      away: () => topology.away(),
      back: () => topology.back(),
      newcomerFirst,
    }),
  );

/** Of every topology that can lead `away` and `back`. */
export const SURVIVORS_FIRST = led('there and back, survivors first');
/** Where nothing but whoever was answered by the other server can tell, no rule helps. */
export const NEWCOMER_FIRST = led('there and back, newcomer first', true);
export const THERE_AND_BACK = [SURVIVORS_FIRST, NEWCOMER_FIRST];
