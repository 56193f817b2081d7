/**
 * The granted ranges and how far each is used up, in memory that several threads may share.
 *
 * Guarantee: IDs are taken by compare-and-swap, so that no two threads get the same. Only the
 * thread that holds the lease writes ranges, and it publishes each when it is complete.
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

/** Ranges are numbered 1, 2, 3 as they are granted. */
export class RangeRing {
  private readonly ints: Int32Array;
  private readonly longs: BigInt64Array;

  constructor({ ints, longs }: WindowWords) {
    this.ints = ints;
    this.longs = longs;
  }

  /** Makes a ring without a range, now or later. */
  static closed(): RangeRing {
    const ring = new RangeRing(new WindowWords());
    ring.close();
    ring.skipTo(NEVER);
    return ring;
  }

  /**
   * The number of the range in use. It is an ordinary read, since it is made for every ID: a thread
   * that sees a change late goes on for a moment with IDs that it has taken and no other thread can
   * get.
   */
  get current(): number {
    return this.ints[CURRENT]!;
  }

  /** Reads the same number in order with the writes of other threads. */
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

  /** Returns the number of the range. It is in use at once if there is none before it. */
  publish(range: StoredRange, cursor: bigint, isRewound: boolean): number {
    const { workerId, floorTick, ceilingTick } = range;
    const number = this.newest + 1;
    // The range in use is never overwritten: it gives up its rest instead.
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

  /** Returns undefined when the range is no longer in use. */
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

  /** Does nothing if the place of the range was used again. */
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
   * Takes the IDs from `from` to `to`, exclusive; false when another thread was faster, or when the
   * range has been left, so that its IDs must not be used.
   */
  take(number: number, from: bigint, to: bigint): boolean {
    const before = Atomics.compareExchange(this.longs, cursorIndex(number), from, to);
    return before === from && this.isCurrent(number);
  }

  /** Leaves a range for the next one; false when there is none. */
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

/** "Worker ID 7, for IDs whose time lies in [floor, ceiling)", Unix ms. */
export interface LeasedRange {
  readonly workerId: number;
  /** Inclusive; -Infinity without a floor in any registry. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker ID that is owned without end. */
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
  /** Half of the rest at the last grant. Reaching it requests more. */
  halfTick: number;
  /** True when IDs may go back in time on entering it: an intended switch after a rollback. */
  readonly rewinds: boolean;
}

export function windowRange(number: number, stored: StoredRange, rewinds: boolean): WindowRange {
  return { number, ...stored, halfTick: halfway(stored.floorTick, stored.ceilingTick), rewinds };
}

/** The first tick of a range that an ID can have. */
export function beginningOf({ floorTick }: StoredRange): number {
  return Math.max(0, floorTick);
}

/** True as long as no ID of the range was taken. */
export function isBeginning(range: WindowRange, { tick, sequence }: FreePlace): boolean {
  return tick === beginningOf(range) && sequence === 0;
}

/** The range from -Infinity to Infinity has no middle, so it never requests more. */
export function halfway(from: number, to: number): number {
  return to === Infinity ? Infinity : from + (to - from) / 2;
}
