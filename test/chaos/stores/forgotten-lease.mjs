/**
 * The worst moment to put a store back to an older copy, or to let a standby take over: a worker id
 * was leased since, its holder stands still, so that it tells nobody, and another process comes
 * which finds that worker id free.
 */

/** How long a process may take to lease, on a busy machine. */
const LEASE_MS_MAX = 20_000;
/** Shorter than a lease, so that the holder goes on in its range. */
const STILL_MS = 7000;

/**
 * @param {import('../faults.mjs').World} world
 * @param {{ keep: () => unknown, forget: () => unknown }} steps what makes the copy, and what
 *   brings it back
 * @returns {Promise<boolean>} false where nothing was leased in between
 */
export async function forgetLease({ fleet, random }, { keep, forget }) {
  const first = fleet.any(random);
  if (first === undefined) return false;
  await fleet.end(first);
  const leasing = fleet.leasing(LEASE_MS_MAX);
  await keep();
  const holder = await leasing;
  if (holder === undefined) return false;
  const others = [...fleet.members].filter((member) => member !== holder);
  const other = others[Math.floor(random() * others.length)];
  if (other !== undefined) await fleet.end(other);
  holder.kill('SIGSTOP');
  const goesOn = setTimeout(() => holder.kill('SIGCONT'), STILL_MS);
  const next = fleet.leasing(STILL_MS);
  await forget();
  await next;
  clearTimeout(goesOn);
  holder.kill('SIGCONT');
  return true;
}
