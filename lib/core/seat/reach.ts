/**
 * How far into the future this process makes ids: the latest time of any id that its generators
 * have made or may make under the leases they hold.
 *
 * Promise: one number for all copies of the package in a process, which only rises. It widens what
 * a check of ids lets in and decides nothing else; threads have one each.
 */

const KEY = Symbol.for('nestjs-snowflake:reach');

const shared = globalThis as { [KEY]?: { ms: number } };
const reach = (shared[KEY] ??= { ms: -Infinity });

/** Unix ms; -Infinity as long as there is no generator. */
export function reachMs(): number {
  return reach.ms;
}

/** Ids up to this time may exist. A range without end says nothing: its ids do, one by one. */
export function noteReach(ms: number): void {
  if (ms > reach.ms && ms !== Infinity) reach.ms = ms;
}
