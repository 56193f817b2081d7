/**
 * How far ids may run ahead of the clock when the sequence of a tick is spent.
 *
 * A bucket of ticks: entering a tick before the clock has reached it takes one, the clock's own
 * progress refills it. It counts progress, not the reading: after a clock that was set back, or a
 * floor above the clock, each tick of progress pays for one tick. Promise: without rollbacks ids
 * are at most `aheadMsMax` ahead, in all the threads of a seat together.
 */
import { SnowflakeError } from '../../errors.js';
import type { BitLayout } from '../layout/bit-layout.js';
import type { Clock } from '../clock.js';
import type { RunAheadCredit } from '../seat/run-ahead-credit.js';
import type { SeatedRange, WorkerSeat } from '../seat/worker-seat.js';

const AHEAD_MS_MAX_DEFAULT = 1000;

/**
 * How far ids of a range may run ahead, ms, where nobody has said it. What ends nowhere was agreed
 * with nobody: after a restart the clock alone keeps its new ids apart from the old ones.
 */
export function aheadMsMaxOf({ ceilingTick }: Pick<SeatedRange, 'ceilingTick'>): number {
  return ceilingTick === Infinity ? 0 : AHEAD_MS_MAX_DEFAULT;
}

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
  private readonly credit: RunAheadCredit;
  private readonly layout: BitLayout;
  private readonly delayTicks: number;

  constructor(
    { credit, layout, sharedMemory }: WorkerSeat,
    private readonly clock: Clock,
    /** Undefined where each range decides for itself. */
    private readonly aheadMsMax: number | undefined,
  ) {
    this.credit = credit;
    this.layout = layout;
    this.delayTicks = sharedMemory ? Math.ceil(THREAD_DELAY_MS / layout.unitMs) : 0;
  }

  /** Notes what the clock says now; `tick` is where the next id of the range goes. */
  observe(range: SeatedRange, tick: number, nowTick: number): void {
    if (!Number.isFinite(nowTick)) return;
    const { seenTick } = this.credit;
    const progress = this.progress(seenTick, nowTick);
    if (progress > 0) {
      const creditMax = this.creditMax(range, tick, nowTick);
      if (this.credit.noteClock(seenTick, nowTick)) this.credit.refill(progress, creditMax);
    } else if (progress < -this.delayTicks && !this.isLate(seenTick)) {
      if (this.credit.noteClock(seenTick, nowTick)) this.rollbackCount++;
    }
  }

  /** Asks to enter a tick because the sequence of the one before is spent. */
  enter(range: SeatedRange, tick: number, nowTick: number): Entry {
    this.observe(range, tick, nowTick);
    if (tick <= nowTick) return 'free';
    return this.credit.spend(this.creditMax(range, tick, nowTick)) ? 'paid' : 'wait';
  }

  /** What was paid for was not used. */
  giveBack(): void {
    this.credit.refill(1, Infinity);
  }

  /**
   * One look at the clock more, for up to about one tick.
   * @throws SnowflakeError SEQUENCE_SPENT when that is over, or where there is no waiting in place.
   */
  wait(range: SeatedRange, lookCount: number): void {
    const { unitMs } = this.layout;
    if (lookCount === 0) this.waitCount++;
    const isPossible = this.mayWait && unitMs <= WAIT_UNIT_MS_MAX;
    if (!isPossible || lookCount >= LOOKS_PER_MS * unitMs) throw this.spent(range);
  }

  /**
   * Further ahead than any burst leads, ids got there by a floor or by a clock that was set back.
   * The distance is no fault of theirs: what the clock has gone on since may be used, at least.
   */
  private creditMax(range: SeatedRange, tick: number, nowTick: number): number {
    const creditMax = Math.floor(this.aheadMsMaxIn(range) / this.layout.unitMs);
    return tick > nowTick + creditMax + 1 ? Math.max(1, creditMax) : creditMax;
  }

  private aheadMsMaxIn(range: SeatedRange): number {
    return this.aheadMsMax ?? aheadMsMaxOf(range);
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

  private spent(range: SeatedRange): SnowflakeError {
    const { layout } = this;
    const { unitMs } = layout;
    const aheadMsMax = this.aheadMsMaxIn(range);
    const limit =
      aheadMsMax === 0
        ? 'ids do not run ahead of the clock here'
        : `ids already run ${aheadMsMax} ms ahead of the clock`;
    return new SnowflakeError(
      'SEQUENCE_SPENT',
      `All ${layout.sequence.max + 1} ids of a tick of ${unitMs} ms are spent and ${limit}, so ` +
        `no id was made. Use nextIdAsync() to wait, or a layout with more sequence bits.`,
      { details: { aheadMsMax, unitMs } },
    );
  }
}
