/**
 * The worst moment for a store of counters to forget: segments were granted since, all who were
 * answered stand still, so that nobody tells the store what it granted, and the first to ask is a
 * process that was never answered anything.
 */
import { until } from '../until.mjs';

/** Several of each process. */
const GRANT_COUNT = 8;
const GRANTS_MS_MAX = 10_000;
const STILL_MS_MAX = 20_000;

/**
 * @param {import('../faults.mjs').World} world
 * @param {object} steps
 * @param {() => unknown} steps.keep from here on the store forgets
 * @param {() => unknown} steps.forget
 * @param {boolean} [steps.goesOn] whether the old server still answers those who ask it: then
 *   nobody stands still
 * @returns {Promise<boolean>} false where nothing was granted in between
 */
export async function forgetGrants({ fleet, random }, { keep, forget, goesOn = false }) {
  await keep();
  const goal = fleet.leaseCount + GRANT_COUNT;
  const isGranted = await until(async () => fleet.leaseCount >= goal, GRANTS_MS_MAX).then(
    () => true,
    () => false,
  );
  const holders = goesOn ? [] : [...fleet.members];
  for (const holder of holders) holder.kill('SIGSTOP');
  try {
    await forget();
    const newcomer = fleet.next('lease', STILL_MS_MAX);
    // Its successor is the newcomer.
    fleet.any(random)?.kill('SIGKILL');
    await newcomer;
  } finally {
    for (const holder of holders) holder.kill('SIGCONT');
  }
  return isGranted;
}
