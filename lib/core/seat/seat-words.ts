/**
 * The words of a seat: every number that the threads on one lease share, and where it lies.
 *
 * What is written often lies two cache lines or more away from what is read for every id, since a
 * thread that writes to a line slows down all that read it ("threads" in bench/RESULTS.md: three
 * times). Each view of the words has one job: RangeRing, RunAheadCredit, LeaseSignals and
 * AnchoredClock.
 */

/*
 * byte                                                                    is written
 *    0   current | newest | rewound | closed | state | signals | offset   with changes of the lease
 *   32   form | changes
 *  128   seen tick | credit | has seen tick                               once a tick
 *  256   cursor of the range in place 0                                   with every block of ids
 *  384   cursor of the range in place 1
 *  ...   one every 128 bytes, 16 in all
 * 2304   worker id | floor | ceiling of the range in place 0              with every grant
 * 2328   worker id | floor | ceiling of the range in place 1
 *  ...   16 in all
 * 2688   the end
 *
 * 32-bit integers up to byte 255, but for the clock offset, a double; then 64-bit integers.
 * `current` and the offset are read for every id.
 */

/** Indexes of `ints`: the byte divided by 4. */
export const CURRENT = 0;
export const NEWEST = 1;
export const REWOUND = 2;
export const CLOSED = 3;
export const STATE = 4;
export const SIGNALS = 5;
const FORM = 8;
export const CHANGES = 9;
export const SEEN_TICK = 32;
export const CREDIT = 33;
export const HAS_SEEN_TICK = 34;

/** An index of `doubles`: the byte divided by 8. */
export const CLOCK_OFFSET = 3;

/** Ranges remembered at once; a lease that moves on needs two or three. */
export const PLACE_COUNT = 16;

/** Indexes of `longs`: the byte divided by 8. */
const CURSORS = 32;
const CURSOR_STEP = 16;
const RANGES = CURSORS + PLACE_COUNT * CURSOR_STEP;
const RANGE_STEP = 3;
const BYTE_COUNT = 8 * (RANGES + PLACE_COUNT * RANGE_STEP);

/** Says which words there are and where; a version that moves them changes this. */
const FORM_NUMBER = 0x5ea70002;

export class SeatWords {
  readonly ints: Int32Array;
  readonly longs: BigInt64Array;
  readonly doubles: Float64Array;

  /** `memory` is what another thread shares; without it new memory, for this thread alone. */
  constructor(memory: ArrayBufferLike = new ArrayBuffer(BYTE_COUNT)) {
    this.ints = new Int32Array(memory);
    this.longs = new BigInt64Array(memory);
    this.doubles = new Float64Array(memory);
    // Ranges are numbered from 1 on, so that 0 can stand for none.
    if (this.ints[CURRENT] === 0) this.ints[CURRENT] = 1;
    this.ints[FORM] = FORM_NUMBER;
  }

  /** New memory that can be handed to other threads. */
  static shared(): SeatWords {
    return new SeatWords(new SharedArrayBuffer(BYTE_COUNT));
  }

  /** What other threads are given; undefined where this thread has the memory for itself. */
  get shared(): SharedArrayBuffer | undefined {
    const { buffer } = this.ints;
    return isSharedMemory(buffer) ? buffer : undefined;
  }
}

/** Where the cursor of a range lies, an index of `longs`; places are used again in turn. */
export function cursorIndex(rangeNumber: number): number {
  return CURSORS + (rangeNumber % PLACE_COUNT) * CURSOR_STEP;
}

/** Where the worker id of a range lies, an index of `longs`; floor and ceiling follow it. */
export function rangeIndex(rangeNumber: number): number {
  return RANGES + (rangeNumber % PLACE_COUNT) * RANGE_STEP;
}

/** True for shared memory that this version of the library laid out. */
export function isSeatMemory(value: unknown): value is SharedArrayBuffer {
  if (!isSharedMemory(value) || value.byteLength !== BYTE_COUNT) return false;
  return Atomics.load(new Int32Array(value), FORM) === FORM_NUMBER;
}

/** Told by its tag: memory from another realm is no instance of this one's SharedArrayBuffer. */
function isSharedMemory(value: unknown): value is SharedArrayBuffer {
  return Object.prototype.toString.call(value) === '[object SharedArrayBuffer]';
}
