/**
 * Takes blocks: the numbers of one tick that a generator then counts through by itself.
 *
 * Promise: every block lies in a range of the seat and belongs to nobody else; of one generator
 * the (tick, sequence) pairs rise, but where the lease went back in time on purpose. A generator
 * that is alone takes what is left of a tick, threads that share a lease a few numbers at a time.
 */
import type { BitLayout } from '../layout/bit-layout.js';
import type { Clock } from '../clock.js';
import { beforeEpoch, timeExhausted } from './generator-errors.js';
import { RunAhead } from './run-ahead.js';
import type { SeatedRange, WorkerSeat } from '../seat/worker-seat.js';

/** The numbers up to `last` of a tick; `sequence` is the one used last. */
export class Block {
  range: SeatedRange | undefined;
  /** That of the range; 0 before the first. */
  number = 0;
  tick = -Infinity;
  sequence = 0;
  first = 1;
  last = 0;

  begin(range: SeatedRange, tick: number, first: number, last: number): void {
    this.range = range;
    this.number = range.number;
    this.tick = tick;
    this.first = this.sequence = first;
    this.last = last;
  }
}

/**
 * Among threads a block begins with one number and doubles while its tick lasts: few numbers are
 * lost where ids are rare, and a busy thread goes to the shared memory for every 128th id only.
 */
const SHARED_COUNT_MAX = 128;

export class BlockTaker {
  readonly runAhead: RunAhead;
  private readonly layout: BitLayout;
  private readonly isShared: boolean;
  private count = 1;

  constructor(
    private readonly seat: WorkerSeat,
    private readonly clock: Clock,
    aheadMsMax: number | undefined,
    /** Undefined for ticks that start at 0. */
    private readonly random: (() => number) | undefined,
  ) {
    this.layout = seat.layout;
    this.isShared = seat.sharedMemory !== undefined;
    this.runAhead = new RunAhead(seat, clock, aheadMsMax);
  }

  /**
   * Moves a block one number on, replacing it where it is used up, void or behind the clock.
   * @throws SnowflakeError what nextId() throws
   */
  advance(block: Block, nowTick: number): void {
    let lookCount = 0;
    for (let tickNow = nowTick; ; tickNow = this.layout.tickOf(this.clock.now())) {
      const range = this.seat.current ?? this.seat.refuse();
      const tick = this.firstTick(block, range, tickNow);
      if (range === block.range && tick === block.tick && block.sequence < block.last) {
        block.sequence++;
        return;
      }
      const outcome = this.replace(block, range, tick, tickNow);
      if (outcome === 'taken') return;
      if (outcome === 'wait') this.runAhead.wait(range, lookCount++);
    }
  }

  /** `max(clock, last, floor)`; another range begins after the last tick, so that ids rise. */
  private firstTick(block: Block, range: SeatedRange, nowTick: number): number {
    const isRewound = this.seat.rewoundNumber > block.number;
    const next = isRewound ? -Infinity : block.tick + 1;
    const least = range === block.range ? block.tick : next;
    return Math.max(this.seat.follow(range, nowTick), range.floorTick, least);
  }

  /** 'lost' when the range was used up or another thread was faster: look again at once. */
  private replace(
    block: Block,
    range: SeatedRange,
    firstTick: number,
    nowTick: number,
  ): 'taken' | 'lost' | 'wait' {
    const free = this.seat.next(range);
    const isSpent = free.tick > firstTick && firstTick >= 0;
    const tick = isSpent ? free.tick : firstTick;
    if (tick >= range.ceilingTick) {
      this.seat.moveOn(range);
      return 'lost';
    }
    this.checkTime(tick);
    // Others are in this tick already.
    const isOpen = free.tick === tick && free.sequence > 0;
    const { runAhead } = this;
    // A tick that is entered because the one before is spent has a price where it is ahead.
    const isPriced = isSpent && !isOpen;
    if (!isPriced) runAhead.observe(range, tick, nowTick);
    const entry = isPriced ? runAhead.enter(range, tick, nowTick) : 'free';
    if (entry === 'wait') return entry;
    const first = isOpen ? free.sequence : isSpent ? 0 : this.sequenceStart();
    const count = this.nextCount(isSpent || tick === block.tick);
    const last = Math.min(first + count - 1, this.layout.sequence.max);
    if (!this.seat.take(range, free, tick, last)) {
      if (entry === 'paid') runAhead.giveBack();
      return 'lost';
    }
    block.begin(range, tick, first, last);
    return 'taken';
  }

  private nextCount(isBusy: boolean): number {
    if (!this.isShared) return this.layout.sequence.max + 1;
    return (this.count = isBusy ? Math.min(SHARED_COUNT_MAX, this.count * 2) : 1);
  }

  /** The lower half only: a tick that starts at random still has 2048 of 4096 numbers or more. */
  private sequenceStart(): number {
    if (this.random === undefined) return 0;
    return Math.floor((this.random() * (this.layout.sequence.max + 1)) / 2);
  }

  private checkTime(tick: number): void {
    if (tick > this.layout.timestamp.max) throw timeExhausted(this.layout);
    // Written so that a clock that answers NaN is refused too.
    if (!(tick >= 0)) throw beforeEpoch(this.layout, this.clock.now());
  }
}
