/**
 * The only place that reads time.
 *
 * Promise: milliseconds since 1970 through a port, so that tests set the time and never sleep.
 * No decision is taken here: ids stay unique whatever a clock says (the seat's ranges see to it).
 */

import { SeatMemory } from './seat-memory.js';

/** Where the time comes from: milliseconds since 1970-01-01T00:00:00Z, whole numbers. */
export interface Clock {
  now(): number;
}

/**
 * The host's wall clock. `Date.now` is taken when this file is loaded, so that fake timers
 * installed later by a test framework do not stop a generator.
 */
export const systemClock: Clock = { now: Date.now };

/**
 * A clock moved by an offset, which the lease sets when the host's clock is far from the
 * registry's. The offset lies in the memory of the seat, so that every thread on it is moved.
 */
export class AnchoredClock implements Clock {
  constructor(
    private readonly source: Clock,
    private readonly memory = new SeatMemory(),
  ) {}

  get offsetMs(): number {
    return this.memory.clockOffsetMs;
  }

  set offsetMs(offsetMs: number) {
    this.memory.clockOffsetMs = offsetMs;
  }

  now(): number {
    return this.source.now() + this.memory.clockOffsetMs;
  }
}
