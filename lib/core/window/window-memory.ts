/**
 * The memory of a lease window: the position of every number that the threads on one lease share.
 *
 * Frequently written words are at least two cache lines away from those that every ID reads. A
 * thread that writes to a line slows down all its readers by a factor of three ("threads" in
 * bench/RESULTS.md). Each view of the words has one job: RangeRing, RunAheadCredit, LeaseSignals
 * and AnchoredClock.
 */
import type { Clock } from '../clock.js';
import { IdWords } from '../id-words.js';
/*
 * byte                                                                    is written
 *    0   current | newest | rewound | closed | state | signals | offset   with changes of the lease
 *   32   form | changes
 *  128   seen tick | credit | has seen tick                               once a tick
 *  256   cursor of the range in place 0                                   with every block of IDs
 *  384   cursor of the range in place 1
 *  ...   one every 128 bytes, 16 in all
 * 2304   worker ID | floor | ceiling of the range in place 0              with every grant
 * 2328   worker ID | floor | ceiling of the range in place 1
 *  ...   16 in all
 * 2688   the end
 *
 * 32-bit integers up to byte 255, except the clock offset, a double; then 64-bit integers. Every ID
 * reads `current` and the offset.
 */

/** Indexes of `ints`: the byte divided by 4. */
export const CURRENT = 0;
export const NEWEST = 1;
export const REWOUND = 2;
export const CLOSED = 3;
const STATE = 4;
const SIGNALS = 5;
const FORM = 8;
const CHANGES = 9;
const SEEN_TICK = 32;
const CREDIT = 33;
const HAS_SEEN_TICK = 34;

/** An index of `doubles`: the byte divided by 8. */
const CLOCK_OFFSET = 3;

/** The maximum number of stored ranges; a lease that changes ranges needs two or three. */
export const PLACE_COUNT = 16;

/** Indexes of `longs`: the byte divided by 8. */
const CURSORS = 32;
const CURSOR_STEP = 16;
const RANGES = CURSORS + PLACE_COUNT * CURSOR_STEP;
const RANGE_STEP = 3;
const BYTE_COUNT = 8 * (RANGES + PLACE_COUNT * RANGE_STEP);

/** Identifies this arrangement of words; a version that moves them changes this. */
const FORM_NUMBER = 0x5ea70002;

export class WindowWords {
  readonly ints: Int32Array;
  readonly longs: BigInt64Array;
  readonly doubles: Float64Array;

  /** `memory` comes from another thread; without it, this thread gets new memory of its own. */
  constructor(memory: ArrayBufferLike = new ArrayBuffer(BYTE_COUNT)) {
    this.ints = new Int32Array(memory);
    this.longs = new BigInt64Array(memory);
    this.doubles = new Float64Array(memory);
    // Ranges are numbered from 1, so 0 can stand for none.
    if (this.ints[CURRENT] === 0) this.ints[CURRENT] = 1;
    this.ints[FORM] = FORM_NUMBER;
  }

  /** New memory that can be handed to other threads. */
  static shared(): WindowWords {
    return new WindowWords(new SharedArrayBuffer(BYTE_COUNT));
  }

  /** The memory for other threads; undefined if only this thread uses it. */
  get shared(): SharedArrayBuffer | undefined {
    const { buffer } = this.ints;
    return isSharedMemory(buffer) ? buffer : undefined;
  }
}

/** The index in `longs` of the cursor of a range; places are reused in turn. */
export function cursorIndex(rangeNumber: number): number {
  return CURSORS + (rangeNumber % PLACE_COUNT) * CURSOR_STEP;
}

/** The index in `longs` of the worker ID of a range; the floor and the ceiling follow. */
export function rangeIndex(rangeNumber: number): number {
  return RANGES + (rangeNumber % PLACE_COUNT) * RANGE_STEP;
}

/** True for shared memory that this version of the library laid out. */
export function isWindowMemory(value: unknown): value is SharedArrayBuffer {
  if (!isSharedMemory(value) || value.byteLength !== BYTE_COUNT) return false;
  return Atomics.load(new Int32Array(value), FORM) === FORM_NUMBER;
}

/** Checks the tag, because memory from another realm is no instance of this SharedArrayBuffer. */
function isSharedMemory(value: unknown): value is SharedArrayBuffer {
  return Object.prototype.toString.call(value) === '[object SharedArrayBuffer]';
}

/*
 * Signals between the threads on one lease: its state, flags for the thread that holds it, and a
 * count of changes. Signals do not decide which IDs are allowed. Waiting needs shared memory and
 * keeps no process alive.
 */

export class LeaseSignals {
  private readonly ints: Int32Array;

  constructor({ ints }: WindowWords) {
    this.ints = ints;
  }

  /** The state of the lease, as a number whose meaning the lease defines. */
  get state(): number {
    return Atomics.load(this.ints, STATE);
  }

  set state(state: number) {
    Atomics.store(this.ints, STATE, state);
  }

  /** Sets flags for the thread that holds the lease, and wakes it. */
  signal(flags: number): void {
    Atomics.or(this.ints, SIGNALS, flags);
    this.wake();
  }

  /** Wakes the thread that holds the lease, with or without flags. */
  wake(): void {
    Atomics.notify(this.ints, SIGNALS);
  }

  /** Returns the flags set since the last call. */
  takeSignals(): number {
    return Atomics.exchange(this.ints, SIGNALS, 0);
  }

  /** Resolves when there are flags to take, or at wake(). */
  async untilSignal(): Promise<void> {
    await Atomics.waitAsync(this.ints, SIGNALS, 0).value;
  }

  /** Counts a change that allows previously refused IDs or refuses them permanently. */
  announceChange(): void {
    Atomics.add(this.ints, CHANGES, 1);
    Atomics.notify(this.ints, CHANGES);
  }

  /** Resolves at the next change. */
  async untilChange(): Promise<void> {
    await Atomics.waitAsync(this.ints, CHANGES, Atomics.load(this.ints, CHANGES)).value;
  }
}

/*
 * The token bucket of the run-ahead and the last clock reading, shared by all threads. The
 * generator's RunAhead decides what refills it, and how much it can hold.
 *
 * Guarantee: compare-and-swap ensures that each tick of credit is spent only once.
 */

export class RunAheadCredit {
  private readonly ints: Int32Array;

  constructor({ ints }: WindowWords) {
    this.ints = ints;
  }

  /** The lowest 32 bits of the last observed tick; undefined before the first. */
  get seenTick(): number | undefined {
    const hasSeen = Atomics.load(this.ints, HAS_SEEN_TICK) === 1;
    return hasSeen ? Atomics.load(this.ints, SEEN_TICK) : undefined;
  }

  /** Records the clock; false if another thread was faster. */
  noteClock(before: number | undefined, nowTick: number): boolean {
    const seen = Atomics.compareExchange(this.ints, SEEN_TICK, before ?? 0, nowTick | 0);
    Atomics.store(this.ints, HAS_SEEN_TICK, 1);
    return seen === (before ?? 0);
  }

  /** Adds ticks, up to a total of `creditMax`. */
  refill(tickCount: number, creditMax: number): void {
    for (;;) {
      const credit = this.read();
      if (this.change(credit, Math.min(creditMax, credit + tickCount))) return;
    }
  }

  /**
   * Takes one tick; false if there is none. Credit above `creditMax` does not count, because it
   * comes from IDs further ahead or from a range with another limit.
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

  /** Returns false if another thread has just changed the credit. */
  private change(from: number, to: number): boolean {
    return Atomics.compareExchange(this.ints, CREDIT, from, to) === from;
  }
}

/*
 * The next free ID of a range is one 64-bit number, `tick * sequenceCount + sequence`, so a thread
 * can take IDs with a single compare-and-swap.
 */

/** The next free ID of a range. */
export interface FreePlace {
  readonly tick: number;
  readonly sequence: number;
  /** Tick and sequence in one number, as stored in memory. */
  readonly cursor: bigint;
}

export class PlaceCursor {
  private readonly ticksPerHighWord: number;
  private readonly words = new IdWords();

  /** @param sequenceCount the number of IDs in a tick, a power of 2 */
  constructor(private readonly sequenceCount: number) {
    this.ticksPerHighWord = 2 ** 32 / sequenceCount;
  }

  of(tick: number, sequence: number): bigint {
    const { ticksPerHighWord, sequenceCount, words } = this;
    const high = Math.floor(tick / ticksPerHighWord);
    words.set(high, (tick - high * ticksPerHighWord) * sequenceCount + sequence);
    return words.id;
  }

  read(cursor: bigint): FreePlace {
    this.words.id = cursor;
    const { high, low } = this.words;
    const sequence = low % this.sequenceCount;
    const tick = high * this.ticksPerHighWord + (low - sequence) / this.sequenceCount;
    return { tick, sequence, cursor };
  }
}

/**
 * The clock of the generators on one window: the host's clock plus an offset in shared memory,
 * which moves all threads at once. The lease sets it when the host's clock is far from the
 * registry's.
 */
export class AnchoredClock implements Clock {
  private readonly doubles: Float64Array;

  constructor(
    private readonly source: Clock,
    { doubles } = new WindowWords(),
  ) {
    this.doubles = doubles;
  }

  /** Milliseconds. The read is not atomic, because every ID performs it. */
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
