/**
 * The only place that reads time. It goes through a port, so tests set the time instead of
 * sleeping. Unique IDs do not depend on it: the ranges of the lease window keep them unique,
 * whatever a clock returns.
 */

/** Returns whole milliseconds since 1970-01-01T00:00:00Z. */
export interface Clock {
  /** Called for every ID. It may stall, jump or move backwards. */
  now(): number;
}

/**
 * The host's wall clock. It keeps the `Date.now` of the moment this file loads, so fake timers that
 * a test framework installs later do not stop a generator.
 */
export const systemClock: Clock = { now: Date.now };

/** Milliseconds since an arbitrary moment, unaffected by clock changes; not a whole number. */
export const monotonicClock: Clock = { now: performance.now.bind(performance) };

/*
 * Elapsed time, by two clocks.
 *
 * Guarantee: it is at least the elapsed time of each clock. The monotonic clock may stall while a
 * machine sleeps, and the wall clock may be set back. The code does not expect both at once.
 */

export interface TwoClocks {
  readonly clock: Clock;
  readonly monotonic: Clock;
}

/** Returns the milliseconds since the start. */
export type Stopwatch = () => number;

export function started({ clock, monotonic }: TwoClocks): Stopwatch {
  const [wallMs, monotonicMs] = [clock.now(), monotonic.now()];
  return () => Math.max(clock.now() - wallMs, monotonic.now() - monotonicMs, 0);
}
