/**
 * The token bucket of the run-ahead and the clock as it was last seen, one of each for all threads.
 *
 * Promise: a tick of credit is spent once, by compare-and-swap. What refills it, and how much fits
 * in, is left to the generator's RunAhead.
 */
import { CREDIT, HAS_SEEN_TICK, SEEN_TICK, type SeatWords } from './seat-words.js';

export class RunAheadCredit {
  private readonly ints: Int32Array;

  constructor({ ints }: SeatWords) {
    this.ints = ints;
  }

  /** The lowest 32 bits of the tick at which the clock was last seen; undefined before. */
  get seenTick(): number | undefined {
    const hasSeen = Atomics.load(this.ints, HAS_SEEN_TICK) === 1;
    return hasSeen ? Atomics.load(this.ints, SEEN_TICK) : undefined;
  }

  /** Notes the clock; false when another thread was faster. */
  noteClock(before: number | undefined, nowTick: number): boolean {
    const seen = Atomics.compareExchange(this.ints, SEEN_TICK, before ?? 0, nowTick | 0);
    Atomics.store(this.ints, HAS_SEEN_TICK, 1);
    return seen === (before ?? 0);
  }

  /** Adds ticks, up to `creditMax` in all. */
  refill(tickCount: number, creditMax: number): void {
    for (;;) {
      const credit = this.read();
      if (this.change(credit, Math.min(creditMax, credit + tickCount))) return;
    }
  }

  /**
   * Takes one tick; false when there is none. More than `creditMax` is worth no more: it comes from
   * further ahead, or from a range with another limit.
   */
  spend(creditMax: number): boolean {
    for (;;) {
      const credit = this.read();
      const left = Math.min(credit, creditMax) - 1;
      if (left < 0) return false;
      if (this.change(credit, left)) return true;
    }
  }

  private read(): number {
    return Atomics.load(this.ints, CREDIT);
  }

  /** False when another thread changed the credit just now. */
  private change(from: number, to: number): boolean {
    return Atomics.compareExchange(this.ints, CREDIT, from, to) === from;
  }
}
