/**
 * The only place that reads time: milliseconds since 1970 through a port, so that tests set the
 * time and never sleep. No decision is taken here: the ranges of the lease window keep ids unique,
 * whatever a clock says.
 */

/** Where the time comes from: milliseconds since 1970-01-01T00:00:00Z, whole numbers. */
export interface Clock {
  /** Called for every id; may stand still, jump or go back. */
  now(): number;
}

/**
 * The host's wall clock. `Date.now` is taken when this file is loaded, so that fake timers
 * installed later by a test framework do not stop a generator.
 */
export const systemClock: Clock = { now: Date.now };

/** Milliseconds since some moment, which no setting of the clock changes; not whole numbers. */
export const monotonicClock: Clock = { now: () => performance.now() };
