/**
 * The granted ranges and how much of each is used, in memory that several threads may share.
 *
 * Guarantee: threads take IDs by compare-and-swap, so no two threads get the same ID. Only the
 * thread that holds the lease writes ranges, and it publishes each range once it is complete.
 */
import {
  CLOSED,
  CURRENT,
  cursorIndex,
  NEWEST,
  PLACE_COUNT,
  rangeIndex,
  REWOUND,
  WindowWords,
  type FreePlace,
} from './window-memory.js';
/** These stand for "no floor" and "no ceiling"; neither is a tick of any layout. */
const NO_FLOOR = -(2n ** 62n);
const NO_CEILING = 2n ** 62n;

/** No range ever has this number. */
const NEVER = 2 ** 31 - 1;

/** Ranges are numbered 1, 2, 3 in the order of their grants. */
export class RangeRing {
  private readonly ints: Int32Array;
  private readonly longs: BigInt64Array;

  constructor({ ints, longs }: WindowWords) {
    this.ints = ints;
    this.longs = longs;
  }

  /** Creates a ring that never has a range. */
  static closed(): RangeRing {
    const ring = new RangeRing(new WindowWords());
    ring.close();
    ring.skipTo(NEVER);
    return ring;
  }

  /**
   * The number of the range in use. The read is not atomic, because every ID performs it. A thread
   * that sees a change late continues briefly with IDs that it has already taken and that no other
   * thread can get.
   */
  get current(): number {
    return this.ints[CURRENT]!;
  }

  /** Reads the same number atomically, in order with the writes of other threads. */
  get currentInOrder(): number {
    return Atomics.load(this.ints, CURRENT);
  }

  get newest(): number {
    return Atomics.load(this.ints, NEWEST);
  }

  /** The newest range that IDs may enter by going back in time; 0 for none. */
  get rewound(): number {
    return Atomics.load(this.ints, REWOUND);
  }

  /** True if no range will follow: the lease was released. */
  get isClosed(): boolean {
    return Atomics.load(this.ints, CLOSED) === 1;
  }

  close(): void {
    Atomics.store(this.ints, CLOSED, 1);
  }

  /** Returns the number of the range, which is in use at once if no range precedes it. */
  publish(range: StoredRange, cursor: bigint, isRewound: boolean): number {
    const { workerId, floorTick, ceilingTick } = range;
    const number = this.newest + 1;
    // The range in use is never overwritten: its remainder is dropped instead.
    if (number - this.current === PLACE_COUNT) this.passOn(this.current);
    const at = rangeIndex(number);
    Atomics.store(this.longs, at, BigInt(workerId));
    Atomics.store(this.longs, at + 1, floorTick === -Infinity ? NO_FLOOR : BigInt(floorTick));
    this.raise(number, ceilingTick);
    Atomics.store(this.longs, cursorIndex(number), cursor);
    if (isRewound) Atomics.store(this.ints, REWOUND, number);
    Atomics.store(this.ints, NEWEST, number);
    return number;
  }

  /** Returns undefined if the range is no longer in use. */
  read(number: number): StoredRange | undefined {
    const at = rangeIndex(number);
    const floor = Atomics.load(this.longs, at + 1);
    const range = {
      workerId: Number(Atomics.load(this.longs, at)),
      floorTick: floor === NO_FLOOR ? -Infinity : Number(floor),
      ceilingTick: this.ceilingTick(number),
    };
    return this.isCurrent(number) ? range : undefined;
  }

  ceilingTick(number: number): number {
    const ceiling = Atomics.load(this.longs, rangeIndex(number) + 2);
    return ceiling === NO_CEILING ? Infinity : Number(ceiling);
  }

  /** Does nothing if another range now has its place. */
  raise(number: number, ceilingTick: number): void {
    if (this.newest - number >= PLACE_COUNT) return;
    const ceiling = ceilingTick === Infinity ? NO_CEILING : BigInt(ceilingTick);
    Atomics.store(this.longs, rangeIndex(number) + 2, ceiling);
  }

  /** The next free ID of a range, as PlaceCursor writes it. */
  cursor(number: number): bigint {
    return Atomics.load(this.longs, cursorIndex(number));
  }

  /**
   * Takes the IDs from `from` to `to`, exclusive; false if another thread was faster or the range
   * is no longer in use.
   */
  take(number: number, from: bigint, to: bigint): boolean {
    const before = Atomics.compareExchange(this.longs, cursorIndex(number), from, to);
    return before === from && this.isCurrent(number);
  }

  /** Moves from a range to the next one; false if there is none. */
  passOn(number: number): boolean {
    if (this.isCurrent(number) && this.newest === number) return false;
    Atomics.compareExchange(this.ints, CURRENT, number, number + 1);
    return true;
  }

  /** Leaves every range before `number`, at once and forever. */
  skipTo(number: number): void {
    Atomics.store(this.ints, CURRENT, number);
  }

  private isCurrent(number: number): boolean {
    return Atomics.load(this.ints, CURRENT) === number;
  }
}

/* The three forms of a range: as leased, as stored in memory, and as seen by a thread. */

/** "Worker ID 7, for IDs with a time in [floor, ceiling)", Unix ms. */
export interface LeasedRange {
  readonly workerId: number;
  /** Inclusive; -Infinity if no registry has a floor. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker ID that is held forever. */
  readonly ceilingMs: number;
}

interface StoredRange {
  readonly workerId: number;
  readonly floorTick: number;
  readonly ceilingTick: number;
}

/** A range in ticks, as one thread sees it. */
export interface WindowRange {
  /** 1, 2, 3 in the order in which the ranges were granted. */
  readonly number: number;
  readonly workerId: number;
  /** This end is inclusive. */
  readonly floorTick: number;
  /** This end is exclusive. */
  ceilingTick: number;
  /** Half of the remainder at the last grant. Reaching this tick requests more. */
  halfTick: number;
  /** True if IDs may move back in time on entry: a deliberate switch after a rollback. */
  readonly rewinds: boolean;
}

export function windowRange(number: number, stored: StoredRange, rewinds: boolean): WindowRange {
  return { number, ...stored, halfTick: halfway(stored.floorTick, stored.ceilingTick), rewinds };
}

/** The first tick of a range that an ID can have. */
export function beginningOf({ floorTick }: StoredRange): number {
  return Math.max(0, floorTick);
}

/** True until the first ID of the range is taken. */
export function isBeginning(range: WindowRange, { tick, sequence }: FreePlace): boolean {
  return tick === beginningOf(range) && sequence === 0;
}

/** The range from -Infinity to Infinity has no middle, so such a range never requests more. */
export function halfway(from: number, to: number): number {
  return to === Infinity ? Infinity : from + (to - from) / 2;
}
