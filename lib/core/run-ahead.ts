/**
 * How far ids may run ahead of the clock when the sequence of a tick is spent.
 *
 * A bucket of ticks: entering a tick before the clock has reached it takes one, the clock's own
 * progress refills it. It counts progress, not the reading, so a clock that was set back an hour
 * goes on refilling it at once. Promise: without rollbacks ids are at most `aheadMsMax` ahead.
 */
import { SnowflakeError } from '../errors.js';
import type { BitLayout } from './bit-layout.js';
import type { Clock } from './clock.js';

/** Longer ticks than this are not waited for in place: the event loop would stand still. */
const WAIT_UNIT_MS_MAX = 10;
/** A clock that has not moved after so many reads (about 20 ms) stands still. */
const READ_COUNT_MAX = 2 ** 19;

export class RunAhead {
  waitCount = 0;
  rollbackCount = 0;
  private readonly creditMax: number;
  private credit = 0;
  private seenTick = -Infinity;

  constructor(
    private readonly layout: BitLayout,
    private readonly clock: Clock,
    private readonly aheadMsMax: number,
  ) {
    this.creditMax = Math.floor(aheadMsMax / layout.unitMs);
  }

  /** Notes what the clock says now. */
  observe(nowTick: number): void {
    if (nowTick < this.seenTick) this.rollbackCount++;
    else this.credit = Math.min(this.creditMax, this.credit + nowTick - this.seenTick);
    this.seenTick = nowTick;
  }

  /**
   * Permission to enter a tick, after waiting up to one tick for the clock.
   * @throws SnowflakeError SEQUENCE_SPENT when the clock does not move on in that time.
   */
  take(tick: number, nowTick: number): void {
    this.observe(nowTick);
    if (tick > nowTick && this.credit < 1) this.waitFor(tick);
    if (tick > this.seenTick) this.credit--;
  }

  private waitFor(tick: number): void {
    this.waitCount++;
    const readCount = this.layout.unitMs > WAIT_UNIT_MS_MAX ? 1 : READ_COUNT_MAX;
    for (let read = 0; read < readCount; read++) {
      this.observe(this.layout.tickOf(this.clock.now()));
      if (this.credit >= 1 || this.seenTick >= tick) return;
    }
    throw new SnowflakeError(
      'SEQUENCE_SPENT',
      `All ${this.layout.sequence.max + 1} ids of a tick of ${this.layout.unitMs} ms are ` +
        `spent and ` +
        `ids already run ${this.aheadMsMax} ms ahead of the clock, so no id was made. Use ` +
        `nextIdAsync() to wait, or a layout with more sequence bits.`,
      { details: { aheadMsMax: this.aheadMsMax, unitMs: this.layout.unitMs } },
    );
  }
}
