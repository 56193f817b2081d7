/**
 * The worst moment to put a store back to an older copy, or to let a standby take over: a worker id
 * was leased since, its holder stands still, so that it tells nobody, and another process comes
 * which finds that worker id free.
 */

/** How long a process may take to lease, on a busy machine. */
const LEASE_MS_MAX = 60_000;
/** Shorter than a lease, so that the holder goes on in its range. */
const STILL_MS = 7000;

/**
 * @typedef {object} Steps
 * @property {() => unknown} keep makes the copy
 * @property {() => unknown} forget brings it back
 * @property {boolean} [goesOn] whether the old server goes on answering beside the new one
 *
 * @param {import('../fault.mjs').World} world
 * @param {Steps} steps
 * @returns {Promise<boolean>} false where nothing was leased in between
 */
export async function forgetLease({ fleet, random }, { keep, forget }) {
  const first = fleet.any(random);
  if (first === undefined) return false;
  await fleet.end(first);
  const leasing = fleet.next('lease', LEASE_MS_MAX);
  await keep();
  const holder = await leasing;
  if (holder === undefined) return false;
  const newcomer = await newcomerOf(fleet, holder, random);
  holder.kill('SIGSTOP');
  const goesOn = setTimeout(() => holder.kill('SIGCONT'), STILL_MS);
  await forget();
  const next = fleet.next('lease', STILL_MS);
  newcomer?.kill('SIGCONT');
  await next;
  clearTimeout(goesOn);
  holder.kill('SIGCONT');
  return true;
}

/** One that stands still until it may lease. @param {import('../fleet.mjs').Fleet} fleet */
async function newcomerOf(
  fleet,
  /** @type {unknown} */ holder,
  /** @type {() => number} */ random,
) {
  const others = [...fleet.members].filter((member) => member !== holder);
  const other = others[Math.floor(random() * others.length)];
  const coming = fleet.next('up', LEASE_MS_MAX);
  if (other !== undefined) await fleet.end(other);
  const newcomer = await coming;
  newcomer?.kill('SIGSTOP');
  return newcomer;
}
