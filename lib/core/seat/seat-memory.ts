/**
 * The memory of a seat: the ranges granted and how far each is used up, in whole numbers that
 * several threads may read and write at once.
 *
 * Promise: ids are taken by compare-and-swap, so that no two threads get the same. Ranges are
 * written by the one thread that holds the lease, which publishes each when it is complete.
 */

/** Stand for "no floor" and "no ceiling"; neither is a tick of any layout. */
const NO_FLOOR = -(2n ** 62n);
const NO_CEILING = 2n ** 62n;

/** Ranges remembered at once; a lease that moves on needs two or three. */
const RANGE_COUNT = 16;

/**
 * 64-bit words that lie so far apart are never in one cache line, so that a thread which writes one
 * does not slow down those that read the other ("threads" in bench/RESULTS.md: three times).
 */
const APART = 16;

/** Read for every id: 32-bit words. Ranges are numbered 1, 2, 3 as they are granted. */
const CURRENT = 0;
const NEWEST = 1;
const REWOUND = 2;
const CLOSED = 3;
const STATE = 4;
const NEWS = 5;
/** Which words there are and where; a version of the library that changes them changes this. */
const FORM = 8;
const FORM_NUMBER = 0x5ea70002;
/** Counts what may let ids be made that were refused before, or refuse them for good. */
const CHANGES = 9;
/** And a double, in the 64-bit word behind them. */
const CLOCK_OFFSET = 3;
/** Written once a tick: 32-bit words. */
const SEEN_TICK = 2 * APART;
const CREDIT = SEEN_TICK + 1;
const HAS_SEEN = SEEN_TICK + 2;
/** Written with every block: one word of each range. */
const CURSORS = 2 * APART;
/** Written with every grant: three words of each range. */
const RANGES = CURSORS + RANGE_COUNT * APART;
const WORKER_ID = 0;
const FLOOR = 1;
const CEILING = 2;
const RANGE_LENGTH = 3;

const BYTE_COUNT = 8 * (RANGES + RANGE_COUNT * RANGE_LENGTH);

/** A range as it lies in memory. */
export interface StoredRange {
  readonly workerId: number;
  readonly floorTick: number;
  readonly ceilingTick: number;
}

export class SeatMemory {
  private readonly control: Int32Array;
  private readonly words: BigInt64Array;
  private readonly doubles: Float64Array;

  /** `memory` is what another thread shares; without it new memory, for this thread alone. */
  constructor(memory: ArrayBufferLike = new ArrayBuffer(BYTE_COUNT)) {
    this.control = new Int32Array(memory);
    this.words = new BigInt64Array(memory);
    this.doubles = new Float64Array(memory);
    if (this.control[CURRENT] === 0) this.control[CURRENT] = 1;
    this.control[FORM] = FORM_NUMBER;
  }

  /** New memory that can be handed to other threads. */
  static shared(): SeatMemory {
    return new SeatMemory(new SharedArrayBuffer(BYTE_COUNT));
  }

  /** Memory in which no range is and none will be: no range ever has that number. */
  static closed(): SeatMemory {
    const memory = new SeatMemory();
    memory.isClosed = true;
    memory.skipTo(2 ** 31 - 1);
    return memory;
  }

  /** What other threads are given; undefined where this thread has the memory for itself. */
  get shared(): SharedArrayBuffer | undefined {
    const { buffer } = this.control;
    return isSharedMemory(buffer) ? buffer : undefined;
  }

  /**
   * The number of the range in use. An ordinary read, since it is made for every id: a thread that
   * sees a change late goes on for a moment with ids it has taken, which nobody else can get.
   */
  get current(): number {
    return this.control[CURRENT]!;
  }

  /** The same, in order with what else other threads write. */
  get settled(): number {
    return Atomics.load(this.control, CURRENT);
  }

  get newest(): number {
    return Atomics.load(this.control, NEWEST);
  }

  /** The newest range on entering which ids may go back in time; 0 for none. */
  get rewound(): number {
    return Atomics.load(this.control, REWOUND);
  }

  /** True when no range will follow: the lease was given back. */
  get isClosed(): boolean {
    return Atomics.load(this.control, CLOSED) === 1;
  }

  set isClosed(isClosed: boolean) {
    Atomics.store(this.control, CLOSED, isClosed ? 1 : 0);
    Atomics.notify(this.control, NEWS);
    this.announce();
  }

  /** The state of the lease, as a number that the lease gives a meaning. */
  get state(): number {
    return Atomics.load(this.control, STATE);
  }

  set state(state: number) {
    Atomics.store(this.control, STATE, state);
  }

  /** By how much the clock of every thread is moved, in ms. Read for every id, as `current`. */
  get clockOffsetMs(): number {
    return this.doubles[CLOCK_OFFSET]!;
  }

  set clockOffsetMs(offsetMs: number) {
    this.doubles[CLOCK_OFFSET] = offsetMs;
  }

  /** Leaves a flag for the thread that holds the lease, and wakes it. */
  tell(news: number): void {
    Atomics.or(this.control, NEWS, news);
    Atomics.notify(this.control, NEWS);
  }

  /** The flags left since the last time. */
  takeNews(): number {
    return Atomics.exchange(this.control, NEWS, 0);
  }

  /** Resolves when there are flags to take. In shared memory only; keeps no process alive. */
  async newsToCome(): Promise<void> {
    await Atomics.waitAsync(this.control, NEWS, 0).value;
  }

  get changeCount(): number {
    return Atomics.load(this.control, CHANGES);
  }

  /** Resolves when more has changed. In shared memory only; keeps no process alive. */
  async changeToCome(countSeen: number): Promise<void> {
    await Atomics.waitAsync(this.control, CHANGES, countSeen).value;
  }

  private announce(): void {
    Atomics.add(this.control, CHANGES, 1);
    Atomics.notify(this.control, CHANGES);
  }

  /** The number of the range, which is in use at once where nothing is before it. */
  publish(range: StoredRange, cursor: bigint, isRewound: boolean): number {
    const { workerId, floorTick, ceilingTick } = range;
    const number = this.newest + 1;
    // The place of the range in use is never written over: rather, its rest is given up.
    if (number - this.current === RANGE_COUNT) this.passOn(this.current);
    this.store(number, WORKER_ID, BigInt(workerId));
    this.store(number, FLOOR, floorTick === -Infinity ? NO_FLOOR : BigInt(floorTick));
    this.raise(number, ceilingTick);
    Atomics.store(this.words, cursorOf(number), cursor);
    if (isRewound) Atomics.store(this.control, REWOUND, number);
    Atomics.store(this.control, NEWEST, number);
    this.announce();
    return number;
  }

  /** Undefined when the range is no longer in use. */
  read(number: number): StoredRange | undefined {
    const floor = this.load(number, FLOOR);
    const range = {
      workerId: Number(this.load(number, WORKER_ID)),
      floorTick: floor === NO_FLOOR ? -Infinity : Number(floor),
      ceilingTick: this.ceilingTick(number),
    };
    return this.isCurrent(number) ? range : undefined;
  }

  ceilingTick(number: number): number {
    const ceiling = this.load(number, CEILING);
    return ceiling === NO_CEILING ? Infinity : Number(ceiling);
  }

  raise(number: number, ceilingTick: number): void {
    if (this.newest - number >= RANGE_COUNT) return;
    this.store(number, CEILING, ceilingTick === Infinity ? NO_CEILING : BigInt(ceilingTick));
    this.announce();
  }

  /** The next free place of a range: its tick in the high bits, its sequence in the low ones. */
  cursor(number: number): bigint {
    return Atomics.load(this.words, cursorOf(number));
  }

  /**
   * Takes the places from `from` to `to`, exclusive; false when another thread was faster, or
   * when the range has been passed, so that nobody may rely on it.
   */
  take(number: number, from: bigint, to: bigint): boolean {
    const before = Atomics.compareExchange(this.words, cursorOf(number), from, to);
    return before === from && this.isCurrent(number);
  }

  /** Leaves a range for the next one; false when there is none. */
  passOn(number: number): boolean {
    if (this.isCurrent(number) && this.newest === number) return false;
    Atomics.compareExchange(this.control, CURRENT, number, number + 1);
    return true;
  }

  /** Leaves every range before `number`, at once and for ever. */
  skipTo(number: number): void {
    Atomics.store(this.control, CURRENT, number);
    this.announce();
  }

  /** The lowest 32 bits of the tick at which the clock was last seen; undefined before. */
  get seenTick(): number | undefined {
    const hasSeen = Atomics.load(this.control, HAS_SEEN) === 1;
    return hasSeen ? Atomics.load(this.control, SEEN_TICK) : undefined;
  }

  /** Notes the clock; false when another thread was faster. */
  see(before: number | undefined, nowTick: number): boolean {
    const seen = Atomics.compareExchange(this.control, SEEN_TICK, before ?? 0, nowTick | 0);
    Atomics.store(this.control, HAS_SEEN, 1);
    return seen === (before ?? 0);
  }

  get credit(): number {
    return Atomics.load(this.control, CREDIT);
  }

  /** False when another thread changed the credit just now. */
  changeCredit(from: number, to: number): boolean {
    return Atomics.compareExchange(this.control, CREDIT, from, to) === from;
  }

  private isCurrent(number: number): boolean {
    return Atomics.load(this.control, CURRENT) === number;
  }

  private load(number: number, word: number): bigint {
    return Atomics.load(this.words, indexOf(number, word));
  }

  private store(number: number, word: number, value: bigint): void {
    Atomics.store(this.words, indexOf(number, word), value);
  }
}

/** Told by its tag: memory from another realm is no instance of this one's SharedArrayBuffer. */
export function isSharedMemory(value: unknown): value is SharedArrayBuffer {
  return Object.prototype.toString.call(value) === '[object SharedArrayBuffer]';
}

/** True for memory that this version of the library laid out. */
export function isSeatMemory(value: unknown): value is SharedArrayBuffer {
  if (!isSharedMemory(value) || value.byteLength !== BYTE_COUNT) return false;
  return Atomics.load(new Int32Array(value), FORM) === FORM_NUMBER;
}

function cursorOf(number: number): number {
  return CURSORS + (number % RANGE_COUNT) * APART;
}

function indexOf(number: number, word: number): number {
  return RANGES + (number % RANGE_COUNT) * RANGE_LENGTH + word;
}
