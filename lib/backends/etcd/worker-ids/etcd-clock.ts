/**
 * The clock of a registry in etcd, whose members each tell their own time, in whole seconds.
 *
 * Promise: it never goes back, and members whose clocks differ do not drive it ahead; a clock that
 * was set back by more than they may differ is absorbed at half speed, so that leases go on.
 */
import { slewed, type ClockPolicy } from '../../../registry/registry-clock.js';

/** What the header Date tells. */
export const RESOLUTION_MS = 1000;

/** So far two members may be apart, as whole seconds show it. */
export function wholeSeconds(differenceMs: number): number {
  return Math.ceil(differenceMs / RESOLUTION_MS) * RESOLUTION_MS;
}

/** @param differenceMs between two members, at most */
export function clockOfMembers(differenceMs: number): ClockPolicy {
  const toleranceMs = wholeSeconds(differenceMs) + RESOLUTION_MS;
  return (last, timeMs) => {
    const backMs = last.lastTimeMs - timeMs;
    // Another member answers: the one ahead of it has been heard already.
    return backMs > 0 && backMs <= toleranceMs ? last : slewed(last, timeMs);
  };
}
