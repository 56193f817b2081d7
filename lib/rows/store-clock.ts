/**
 * The clock of a registry: the store's time, but it never goes back.
 *
 * The policy depends on the store. Two servers whose clocks differ would drive a slew up with every
 * change between them, so a store of several servers keeps to the highest time.
 */
import { DATE_MS_MAX } from '../core/layout/layout-fields.js';
import type { LeaseTerms } from '../lease/distributed-support.js';

/** Later than any other time: it stands for a ceiling that cannot be read. */
export const LAST_MS = DATE_MS_MAX;

/** The clock of a registry as its last operation left it. */
export interface ClockState {
  /** The store's time at the last operation. */
  readonly lastTimeMs: number;
  /**
   * Added to the store's time so that the registry's clock never goes back. Below 0 after a step
   * forward that was not followed.
   */
  readonly slewMs: number;
}

/** Moves the clock on to a time of the store. */
export type ClockPolicy = (last: ClockState, timeMs: number) => ClockState;

/** The policy for one server absorbs a step back, at half speed until the server has caught up. */
export const slewed: ClockPolicy = ({ lastTimeMs, slewMs }, timeMs) => {
  const elapsedMs = timeMs - lastTimeMs;
  const leastMs = Math.min(0, slewMs);
  const takenUpMs =
    elapsedMs < 0 ? slewMs - elapsedMs : Math.max(leastMs, slewMs - Math.floor(elapsedMs / 2));
  return { lastTimeMs: timeMs, slewMs: takenUpMs };
};

/** The policy for several servers waits until their time has passed the highest one seen. */
export const highest: ClockPolicy = ({ lastTimeMs, slewMs }, timeMs) =>
  slewMs < 0 && timeMs >= lastTimeMs
    ? { lastTimeMs: timeMs, slewMs }
    : { lastTimeMs: Math.max(lastTimeMs + slewMs, timeMs), slewMs: 0 };

/** A later time of the store, and the policy of its clock. */
export interface LaterTime {
  readonly timeMs: number;
  /** Default `slewed`. */
  readonly clock?: ClockPolicy | undefined;
}

/** A step of the store's clock beyond this is followed only if another clock shows it too. */
export const STEP_MS = 5000;

/**
 * The clocks of the caller; this very registry gave the time that it reckons with, and all that it
 * granted ends within `quarantineMs`.
 */
type Witness = Pick<LeaseTerms, 'ttlMs' | 'wallMs' | 'reckoned'> & { quarantineMs: number };

/**
 * Returns the time of the store; if that has stepped forward and the caller knows better, the time
 * of this witness. A holder reckons by its monotonic clock. A newcomer has its wall clock alone,
 * which counts only if it fits a registry that was in use until now. A step beyond any lease that
 * the caller can neither confirm nor contradict is unconfirmed.
 */
export function witnessedTime(last: ClockState, timeMs: number, witness: Witness) {
  const { wallMs, reckoned, ttlMs, quarantineMs } = witness;
  const { lastTimeMs, slewMs } = last;
  if (wallMs === undefined || timeMs - Math.max(lastTimeMs, wallMs) <= STEP_MS) {
    return { timeMs, isUnconfirmed: false };
  }
  // Within a lease the registry may have been idle, and the clock of the caller be slow.
  const isFar = timeMs - lastTimeMs > ttlMs + STEP_MS;
  // The stored time may be old: holders ask seldom, and rows keep it once a second.
  const usedMs = lastTimeMs + Math.max(ttlMs, quarantineMs);
  const isInTime = isFar && wallMs >= lastTimeMs - STEP_MS;
  const fits = isInTime && wallMs <= usedMs;
  // A registry ahead of its store goes on slowly, and what it granted lasts by its own clock: if it
  // may be in use, it waits for its holders.
  const mayFit = isInTime && wallMs <= usedMs + slewMs;
  // The caller has no time of the store but the registry's clock while that does not follow it.
  const reckonedMs = reckoned && Math.min(reckoned.timeMs, reckoned.nowMs - slewMs);
  const knownMs = reckonedMs ?? (fits ? wallMs : mayFit ? lastTimeMs : undefined);
  const isOther = timeMs - (knownMs ?? timeMs) > STEP_MS;
  // It goes on as fast as time, unless it is ahead of a holder.
  const isBehind = reckoned !== undefined && wallMs >= reckoned.nowMs;
  const onwardMs = isBehind ? timeFor(reckoned.nowMs, last) : knownMs!;
  return {
    timeMs: isOther ? Math.min(Math.max(lastTimeMs, onwardMs), timeMs) : timeMs,
    isUnconfirmed: isFar && knownMs === undefined,
  };
}

/** Returns the time of the store by which the slewed clock comes to this, or as close as it may. */
function timeFor(nowMs: number, last: ClockState): number {
  return Math.min(nowMs, last.lastTimeMs + 2 * (nowMs - nowOf(last)));
}

/** Returns the clock at a later time: a step would begin with it, and the operator sees it. */
export function clockAt(last: ClockState, { timeMs, clock = slewed }: LaterTime): ClockState {
  return clock(last, timeMs);
}

export function nowAt(last: ClockState, later: LaterTime): number {
  return nowOf(clockAt(last, later));
}

export function nowOf({ lastTimeMs, slewMs }: ClockState): number {
  return lastTimeMs + slewMs;
}
