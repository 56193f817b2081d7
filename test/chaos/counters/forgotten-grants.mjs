/**
 * The worst moment for a store of counters to forget: segments were granted since, all who were
 * answered stand still, so that nobody tells the store what it granted, and the first to ask is a
 * process that was never answered anything.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../until.mjs';

/** Two of each process. */
const GRANT_COUNT = 8;
const GRANTS_MS_MAX = 10_000;
const NEWCOMER_MS_MAX = 20_000;
/** Enough for a grant to be used, and far less than a loss window. */
const USED_MS = 300;

/**
 * @param {import('../fault.mjs').World} world
 * @param {object} steps
 * @param {() => unknown} steps.keep what is granted from here on is forgotten
 * @param {() => unknown} steps.forget
 * @param {() => Promise<void>} [steps.asked] until somebody asked the store that forgot: then it
 *   forgets again at once, with all that it made of the loss
 * @param {boolean} [steps.goesOn] whether the old server goes on answering: nobody then stands
 *   still
 * @param {number} [steps.grantCount] how many grants are forgotten
 * @returns {Promise<boolean>} false where nothing was granted in between
 */
export async function forgetGrants(
  { fleet, random },
  { keep, forget, asked, goesOn = false, grantCount = GRANT_COUNT },
) {
  /** @type {Set<import('../fleet.mjs').Member>} */
  const holders = new Set();
  const stopAll = () => {
    for (const member of goesOn ? [] : fleet.members) {
      member.kill('SIGSTOP');
      holders.add(member);
    }
  };
  const newcomer = () => {
    const granted = fleet.next('lease', NEWCOMER_MS_MAX);
    // The newcomer is its successor.
    fleet.any(random)?.kill('SIGKILL');
    return granted;
  };
  await keep();
  const isGranted = await someGranted(fleet, grantCount);
  stopAll();
  try {
    await forget();
    if (asked !== undefined) {
      const granted = newcomer();
      await asked();
      await Promise.race([granted, sleep(USED_MS)]);
      await sleep(USED_MS);
      stopAll();
      await forget();
    }
    await newcomer();
  } finally {
    for (const holder of holders) holder.kill('SIGCONT');
  }
  return isGranted;
}

/** @param {import('../fleet.mjs').Fleet} fleet @param {number} grantCount */
function someGranted(fleet, grantCount) {
  const goal = fleet.leaseCount + grantCount;
  return until(async () => fleet.leaseCount >= goal, GRANTS_MS_MAX).then(
    () => true,
    () => false,
  );
}
