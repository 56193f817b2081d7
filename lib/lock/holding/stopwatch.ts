/**
 * How much time went by, by two clocks.
 *
 * Promise: never less than either says. The monotonic one may stand still while a machine sleeps,
 * and the wall clock may be set back; both at once is not believed to happen.
 */
import type { Clock } from '../../core/clock.js';

export interface TwoClocks {
  readonly clock: Clock;
  readonly monotonic: Clock;
}

/** The ms since it was started. */
export type Stopwatch = () => number;

export function started({ clock, monotonic }: TwoClocks): Stopwatch {
  const [wallMs, monotonicMs] = [clock.now(), monotonic.now()];
  return () => Math.max(clock.now() - wallMs, monotonic.now() - monotonicMs, 0);
}
