/**
 * Takes blocks: the numbers of one tick, which a generator then uses without further calls.
 *
 * Guarantee: every block lies in a range of the lease window and belongs to one generator alone. A
 * generator's (tick, sequence) pairs rise, unless the lease moved back in time on purpose.
 */
import { invariantBroken, SnowflakeError } from '../../errors.js';
import type { Clock } from '../clock.js';
import type { BitLayout } from '../layout/bit-layout.js';
import type { RunAheadCredit } from '../window/window-memory.js';
import type { WindowRange, LeaseWindow } from '../window/lease-window.js';
import { beforeEpoch, timeExhausted } from './id-source.js';

/** A block ends at `last`; `sequence` is the number most recently used. */
export class Block {
  range: WindowRange | undefined;
  /** The number of the range; 0 before the first. */
  number = 0;
  tick = -Infinity;
  sequence = 0;
  first = 1;
  last = 0;

  begin(range: WindowRange, tick: number, first: number, last: number): void {
    const { floorTick, ceilingTick } = range;
    if (!(tick >= floorTick && tick < ceilingTick)) {
      throw invariantBroken('a block lies outside its range', { tick, floorTick, ceilingTick });
    }
    this.range = range;
    this.number = range.number;
    this.tick = tick;
    this.first = this.sequence = first;
    this.last = last;
  }
}

/**
 * With several threads, a block begins with one number and doubles while its tick lasts. Rare IDs
 * then waste few numbers, and a busy thread accesses the shared memory only for every 128th ID. A
 * single generator takes the rest of the tick.
 */
const SHARED_COUNT_MAX = 128;

export class BlockTaker {
  readonly runAhead: RunAhead;
  private readonly layout: BitLayout;
  private readonly isShared: boolean;
  private count = 1;

  constructor(
    private readonly window: LeaseWindow,
    private readonly clock: Clock,
    aheadMsMax: number | undefined,
    /** Undefined when every tick starts at 0. */
    private readonly random: (() => number) | undefined,
  ) {
    this.layout = window.layout;
    this.isShared = window.sharedMemory !== undefined;
    this.runAhead = new RunAhead(window, clock, aheadMsMax);
  }

  /**
   * Advances a block by one number, or replaces it if it is used up, void, or behind the clock.
   * @throws SnowflakeError as nextId() does
   */
  advance(block: Block, nowTick: number): void {
    let lookCount = 0;
    for (let tickNow = nowTick; ; tickNow = this.layout.tickOf(this.clock.now())) {
      const range = this.window.current ?? this.window.refuse();
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

  /** `max(clock, last, floor)`. A different range begins after the last tick, so IDs rise. */
  private firstTick(block: Block, range: WindowRange, nowTick: number): number {
    const isRewound = this.window.rewoundNumber > block.number;
    const next = isRewound ? -Infinity : block.tick + 1;
    const least = range === block.range ? block.tick : next;
    return Math.max(this.window.follow(range, nowTick), range.floorTick, least);
  }

  /**
   * Returns 'lost' if the range is used up or another thread was faster: the caller retries at
   * once.
   */
  private replace(
    block: Block,
    range: WindowRange,
    firstTick: number,
    nowTick: number,
  ): 'taken' | 'lost' | 'wait' {
    const free = this.window.next(range);
    const isSpent = free.tick > firstTick && firstTick >= 0;
    const tick = isSpent ? free.tick : firstTick;
    if (tick >= range.ceilingTick) {
      this.window.moveOn(range);
      return 'lost';
    }
    this.checkTime(tick);
    // Other threads are in this tick already.
    const isOpen = free.tick === tick && free.sequence > 0;
    const { runAhead } = this;
    // A tick that follows a spent one costs credit if it is ahead of the clock.
    const isPriced = isSpent && !isOpen;
    if (!isPriced) runAhead.observe(range, tick, nowTick);
    const entry = isPriced ? runAhead.enter(range, tick, nowTick) : 'free';
    if (entry === 'wait') return entry;
    const first = isOpen ? free.sequence : isSpent ? 0 : this.sequenceStart();
    const count = this.nextCount(isSpent || tick === block.tick);
    const last = Math.min(first + count - 1, this.layout.sequence.max);
    if (!this.window.take(range, free, tick, last)) {
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

  /**
   * Uses the lower half only, so a tick with a random start still has at least 2048 of 4096
   * numbers.
   */
  private sequenceStart(): number {
    if (this.random === undefined) return 0;
    return Math.floor((this.random() * (this.layout.sequence.max + 1)) / 2);
  }

  private checkTime(tick: number): void {
    if (tick > this.layout.timestamp.max) throw timeExhausted(this.layout);
    // This form of the comparison also refuses a clock that returns NaN.
    if (!(tick >= 0)) throw beforeEpoch(this.layout, this.clock.now());
  }
}

/*
 * How far IDs may run ahead of the clock once the sequence of a tick is spent. The allowance is a
 * bucket of ticks: entering a tick before the clock has reached it takes one, and the clock's
 * progress refills the bucket. Only progress counts, not the reading. After a rollback, or under a
 * floor above the clock, each tick of progress therefore still pays for one tick.
 *
 * Guarantee: without rollbacks IDs are at most `aheadMsMax` ahead, across all threads of a window.
 */

const AHEAD_MS_MAX_DEFAULT = 1000;

/**
 * The default limit for a range, ms. It is 0 for an endless range, because no registry records one:
 * after a restart, only the clock separates new IDs from old ones.
 */
function aheadMsMaxOf({ ceilingTick }: Pick<WindowRange, 'ceilingTick'>): number {
  return ceilingTick === Infinity ? 0 : AHEAD_MS_MAX_DEFAULT;
}

/** Longer waits do not happen in place, because they would block the event loop. */
const WAIT_UNIT_MS_MAX = 10;
/**
 * A clock counts as stopped if it does not advance during this many readings for each ms of a tick.
 * One reading takes 60 to 200 ns on the machines measured, so this is one to three ticks.
 */
const LOOKS_PER_MS = 2 ** 14;
/**
 * Threads read the clock one after another, so a decrease up to this many ms is not a clock step.
 */
const THREAD_DELAY_MS = 50;

/** A tick is open because the clock has reached it, because it was paid for, or it is not open. */
type Entry = 'free' | 'paid' | 'wait';

class RunAhead {
  waitCount = 0;
  rollbackCount = 0;
  /** False makes a call throw instead of waiting for the clock in place. */
  mayWait = true;
  private readonly credit: RunAheadCredit;
  private readonly layout: BitLayout;
  private readonly delayTicks: number;

  constructor(
    { credit, layout, sharedMemory }: LeaseWindow,
    private readonly clock: Clock,
    /** If undefined, each range uses its own default. */
    private readonly aheadMsMax: number | undefined,
  ) {
    this.credit = credit;
    this.layout = layout;
    this.delayTicks = sharedMemory ? Math.ceil(THREAD_DELAY_MS / layout.unitMs) : 0;
  }

  /** Records the clock's reading; `tick` is the tick of the range's next ID. */
  observe(range: WindowRange, tick: number, nowTick: number): void {
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

  /** Requests entry to a tick because the previous tick's sequence is spent. */
  enter(range: WindowRange, tick: number, nowTick: number): Entry {
    this.observe(range, tick, nowTick);
    if (tick <= nowTick) return 'free';
    return this.credit.spend(this.creditMax(range, tick, nowTick)) ? 'paid' : 'wait';
  }

  /** Refunds the price of a tick that was not used. */
  giveBack(): void {
    this.credit.refill(1, Infinity);
  }

  /**
   * Allows one more reading of the clock, for up to about one tick.
   * @throws SnowflakeError SEQUENCE_SPENT after that time, or if waiting in place is not allowed.
   */
  wait(range: WindowRange, lookCount: number): void {
    const { unitMs } = this.layout;
    if (lookCount === 0) this.waitCount++;
    const isPossible = this.mayWait && unitMs <= WAIT_UNIT_MS_MAX;
    if (!isPossible || lookCount >= LOOKS_PER_MS * unitMs) throw this.spent(range);
  }

  /**
   * A floor or a rollback can put IDs further ahead than any burst. This distance must not block
   * them, so IDs may always use at least the clock's progress since then.
   */
  private creditMax(range: WindowRange, tick: number, nowTick: number): number {
    const creditMax = Math.floor(this.aheadMsMaxIn(range) / this.layout.unitMs);
    return tick > nowTick + creditMax + 1 ? Math.max(1, creditMax) : creditMax;
  }

  private aheadMsMaxIn(range: WindowRange): number {
    return this.aheadMsMax ?? aheadMsMaxOf(range);
  }

  /** The lowest 32 bits of a tick cover 24 days of ms; a greater step only costs a wait. */
  private progress(seenTick: number | undefined, nowTick: number): number {
    return seenTick === undefined ? Infinity : (nowTick - seenTick) | 0;
  }

  /** True if this thread paused after it read the clock, while other threads continued. */
  private isLate(seenTick: number | undefined): boolean {
    if (this.delayTicks === 0) return false;
    const nowTick = this.layout.tickOf(this.clock.now());
    return this.progress(seenTick, nowTick) >= -this.delayTicks;
  }

  private spent(range: WindowRange): SnowflakeError {
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
        `no id was generated. Use nextIdAsync() to wait, or a layout with more sequence bits.`,
      { details: { aheadMsMax, unitMs } },
    );
  }
}
