/**
 * The clock that the generators of one seat read: the host's, moved by an offset.
 *
 * Promise: the offset lies in the memory of the seat, so that every thread on it is moved at once.
 */
import type { Clock } from '../clock.js';
import { CLOCK_OFFSET, SeatWords } from './seat-words.js';

/** The lease sets the offset when the host's clock is far from the registry's. */
export class AnchoredClock implements Clock {
  private readonly doubles: Float64Array;

  constructor(
    private readonly source: Clock,
    { doubles } = new SeatWords(),
  ) {
    this.doubles = doubles;
  }

  /** Milliseconds. An ordinary read, since it is made for every id. */
  get offsetMs(): number {
    return this.doubles[CLOCK_OFFSET]!;
  }

  set offsetMs(offsetMs: number) {
    this.doubles[CLOCK_OFFSET] = offsetMs;
  }

  now(): number {
    return this.source.now() + this.doubles[CLOCK_OFFSET]!;
  }
}
