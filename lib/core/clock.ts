/**
 * The only place that reads time. It goes through a port, so that tests set the time and never
 * sleep. Unique IDs do not depend on it: the ranges of the lease window keep them unique, whatever
 * a clock says.
 */

/** Tells milliseconds since 1970-01-01T00:00:00Z as whole numbers. */
export interface Clock {
  /** Called for every ID. It may stall, jump or go back. */
  now(): number;
}

/**
 * The host's wall clock. It keeps the `Date.now` of the moment when this file is loaded, so that
 * fake timers installed later by a test framework do not stop a generator.
 */
export const systemClock: Clock = { now: Date.now };

/**
 * Milliseconds since some moment, which no setting of the clock changes. They are not whole
 * numbers.
 */
export const monotonicClock: Clock = { now: performance.now.bind(performance) };

/*
 * Elapsed time, by two clocks.
 *
 * Guarantee: it is at least the elapsed time of each clock. The monotonic clock may stall while a
 * machine sleeps, and the wall clock may be set back; both at once is not expected.
 */

export interface TwoClocks {
  readonly clock: Clock;
  readonly monotonic: Clock;
}

/** Returns the ms since it was started. */
export type Stopwatch = () => number;

export function started({ clock, monotonic }: TwoClocks): Stopwatch {
  const [wallMs, monotonicMs] = [clock.now(), monotonic.now()];
  return () => Math.max(clock.now() - wallMs, monotonic.now() - monotonicMs, 0);
}
