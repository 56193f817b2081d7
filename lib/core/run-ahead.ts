/**
 * How far ids may run ahead of the clock when the sequence of a tick is spent.
 *
 * A bucket of ticks: entering a tick before the clock has reached it takes one, the clock's own
 * progress refills it. It counts progress, not the reading, so a clock that was set back an hour
 * goes on refilling it at once. Promise: without rollbacks ids are at most `aheadMsMax` ahead, in
 * all the threads of a seat together.
 */
import { SnowflakeError } from '../errors.js';
import type { BitLayout } from './bit-layout.js';
import type { Clock } from './clock.js';
import type { SeatMemory } from './seat-memory.js';

/** Longer ticks than this are not waited for in place: the event loop would stand still. */
const WAIT_UNIT_MS_MAX = 10;
/**
 * A clock that has not moved after so many looks for each ms of a tick stands still. A look takes
 * 60 to 200 ns on the machines we know, so this is one to three ticks.
 */
const LOOKS_PER_MS = 2 ** 14;
/** Threads see the clock one after the other: this much back is no step of the clock. */
const THREAD_DELAY_MS = 50;

/** Whether a tick may be entered: the clock is there, or it was paid for, or not yet. */
export type Entry = 'free' | 'paid' | 'wait';

export class RunAhead {
  waitCount = 0;
  rollbackCount = 0;
  /** False to throw where an id would wait for the clock in place. */
  mayWait = true;
  private readonly creditMax: number;
  private readonly delayTicks: number;

  constructor(
    private readonly memory: SeatMemory,
    private readonly layout: BitLayout,
    private readonly clock: Clock,
    private readonly aheadMsMax: number,
  ) {
    this.creditMax = Math.floor(aheadMsMax / layout.unitMs);
    this.delayTicks = memory.shared ? Math.ceil(THREAD_DELAY_MS / layout.unitMs) : 0;
  }

  /** Notes what the clock says now. */
  observe(nowTick: number): void {
    if (!Number.isFinite(nowTick)) return;
    const { seenTick } = this.memory;
    const progress = this.progress(seenTick, nowTick);
    if (progress > 0) {
      if (this.memory.see(seenTick, nowTick)) this.refill(progress);
    } else if (progress < -this.delayTicks && !this.isLate(seenTick)) {
      if (this.memory.see(seenTick, nowTick)) this.rollbackCount++;
    }
  }

  /** Asks to enter a tick because the sequence of the one before is spent. */
  enter(tick: number, nowTick: number): Entry {
    this.observe(nowTick);
    if (tick <= nowTick) return 'free';
    return this.spend() ? 'paid' : 'wait';
  }

  /** What was paid for was not used. */
  giveBack(): void {
    this.refill(1);
  }

  /**
   * One look at the clock more, for up to about one tick.
   * @throws SnowflakeError SEQUENCE_SPENT when that is over, or where there is no waiting in place.
   */
  wait(lookCount: number): void {
    const { unitMs } = this.layout;
    if (lookCount === 0) this.waitCount++;
    const isPossible = this.mayWait && unitMs <= WAIT_UNIT_MS_MAX;
    if (!isPossible || lookCount >= LOOKS_PER_MS * unitMs) throw this.spent();
  }

  /** 32 bits of a tick tell apart what differs by 24 days in ms; a greater step costs a wait. */
  private progress(seenTick: number | undefined, nowTick: number): number {
    return seenTick === undefined ? Infinity : (nowTick - seenTick) | 0;
  }

  /** True for a thread that slept between its look at the clock and now, while others went on. */
  private isLate(seenTick: number | undefined): boolean {
    if (this.delayTicks === 0) return false;
    const nowTick = this.layout.tickOf(this.clock.now());
    return this.progress(seenTick, nowTick) >= -this.delayTicks;
  }

  private refill(tickCount: number): void {
    for (;;) {
      const { credit } = this.memory;
      const sum = Math.min(this.creditMax, credit + tickCount);
      if (this.memory.changeCredit(credit, sum)) return;
    }
  }

  private spend(): boolean {
    for (;;) {
      const { credit } = this.memory;
      if (credit < 1) return false;
      if (this.memory.changeCredit(credit, credit - 1)) return true;
    }
  }

  private spent(): SnowflakeError {
    const { aheadMsMax, layout } = this;
    const { unitMs } = layout;
    return new SnowflakeError(
      'SEQUENCE_SPENT',
      `All ${layout.sequence.max + 1} ids of a tick of ${unitMs} ms are spent and ids already ` +
        `run ${aheadMsMax} ms ahead of the clock, so no id was made. Use nextIdAsync() to wait, ` +
        `or a layout with more sequence bits.`,
      { details: { aheadMsMax, unitMs } },
    );
  }
}
