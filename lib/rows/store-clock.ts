/**
 * The clock of a registry: the store's time, but never moving back.
 *
 * The policy depends on the store. If two servers' clocks differ, every change between them would
 * add to a slew, so a store of several servers uses the highest time.
 */
import { DATE_MS_MAX } from '../core/layout/layout-fields.js';
import type { LeaseTerms } from '../lease/distributed-support.js';

/** Later than any other time; stands for an unreadable ceiling. */
export const LAST_MS = DATE_MS_MAX;

/** The clock of a registry after its last operation. */
export interface ClockState {
  /** The store's time at the last operation. */
  readonly lastTimeMs: number;
  /**
   * Added to the store's time so that the registry's clock never moves back. Below 0 after a step
   * forward that it did not follow.
   */
  readonly slewMs: number;
}

/** Advances the clock to a time of the store. */
export type ClockPolicy = (last: ClockState, timeMs: number) => ClockState;

/** The policy for one server: after a step back, the clock runs at half speed until they meet. */
export const slewed: ClockPolicy = ({ lastTimeMs, slewMs }, timeMs) => {
  const elapsedMs = timeMs - lastTimeMs;
  const leastMs = Math.min(0, slewMs);
  const takenUpMs =
    elapsedMs < 0 ? slewMs - elapsedMs : Math.max(leastMs, slewMs - Math.floor(elapsedMs / 2));
  return { lastTimeMs: timeMs, slewMs: takenUpMs };
};

/** The policy for several servers waits until their time has passed the highest observed time. */
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

/** A step of the store's clock beyond this is followed only if another clock confirms it. */
export const STEP_MS = 5000;

/**
 * The clocks of the caller. Its estimate is based on a time from this same registry, and all grants
 * end within `quarantineMs`.
 */
type Witness = Pick<LeaseTerms, 'ttlMs' | 'wallMs' | 'reckoned'> & { quarantineMs: number };

/**
 * Returns the time of the store or, after a step forward that the caller contradicts, the caller's
 * time. A holder uses its monotonic clock. A new process has only its wall clock, which counts only
 * if it fits a registry that was in use until now. A step beyond any lease that the caller can
 * neither confirm nor contradict is unconfirmed.
 */
export function witnessedTime(last: ClockState, timeMs: number, witness: Witness) {
  const { wallMs, reckoned, ttlMs, quarantineMs } = witness;
  const { lastTimeMs, slewMs } = last;
  if (wallMs === undefined || timeMs - Math.max(lastTimeMs, wallMs) <= STEP_MS) {
    return { timeMs, isUnconfirmed: false };
  }
  // Within a lease, the registry may have been idle, and the caller's clock may be slow.
  const isFar = timeMs - lastTimeMs > ttlMs + STEP_MS;
  // The stored time may be old: holders send few requests, and rows store it at most once a second.
  const usedMs = lastTimeMs + Math.max(ttlMs, quarantineMs);
  const isInTime = isFar && wallMs >= lastTimeMs - STEP_MS;
  const fits = isInTime && wallMs <= usedMs;
  // A registry ahead of its store runs slowly, and its grants last by its own clock. If it may be
  // in use, it waits for its holders.
  const mayFit = isInTime && wallMs <= usedMs + slewMs;
  // While the registry's clock does not follow its store, the caller has only the registry's clock.
  const reckonedMs = reckoned && Math.min(reckoned.timeMs, reckoned.nowMs - slewMs);
  const knownMs = reckonedMs ?? (fits ? wallMs : mayFit ? lastTimeMs : undefined);
  const isOther = timeMs - (knownMs ?? timeMs) > STEP_MS;
  // Runs at the normal speed, unless it is ahead of a holder.
  const isBehind = reckoned !== undefined && wallMs >= reckoned.nowMs;
  const onwardMs = isBehind ? timeFor(reckoned.nowMs, last) : knownMs!;
  return {
    timeMs: isOther ? Math.min(Math.max(lastTimeMs, onwardMs), timeMs) : timeMs,
    isUnconfirmed: isFar && knownMs === undefined,
  };
}

/** Returns the store's time at which the slewed clock shows this time, or the closest possible. */
function timeFor(nowMs: number, last: ClockState): number {
  return Math.min(nowMs, last.lastTimeMs + 2 * (nowMs - nowOf(last)));
}

/** Returns the clock at a later time, which the next step would use and operators see. */
export function clockAt(last: ClockState, { timeMs, clock = slewed }: LaterTime): ClockState {
  return clock(last, timeMs);
}

export function nowAt(last: ClockState, later: LaterTime): number {
  return nowOf(clockAt(last, later));
}

export function nowOf({ lastTimeMs, slewMs }: ClockState): number {
  return lastTimeMs + slewMs;
}
