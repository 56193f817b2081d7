// A thread that makes its part of the ids and marks each in a bitmap that all threads share.
//
// Guarantee: an id is taken apart by hand, not by the library that made it, and marked atomically,
// so that a repeated id is seen whichever thread made it first; an id that has no place in the
// bitmap throws.
import { importCore } from '../harness/library.mjs';
import { nowNs, takePart } from './together.mjs';

const { joinSharedLease } = await importCore();

/** So many ids are begun at once: all threads have work until the last of them. */
const BATCH = 1000;

/** The bits of 41/10/12. */
const SEQUENCE_BITS = 12;
const WORKER_BITS = 10;
const SEQUENCE_MAX = 2 ** SEQUENCE_BITS - 1;
const WORKER_MAX = 2 ** WORKER_BITS - 1;
const TICKS_PER_HIGH_WORD = 2 ** (32 - SEQUENCE_BITS - WORKER_BITS);

class Marker {
  count = 0;
  throws = 0;
  aheadMs = -Infinity;
  twice = 0;
  back = 0;
  anyWorkerBits = 0;
  allWorkerBits = WORKER_MAX;
  last = new Uint32Array(2);
  id = new BigUint64Array(1);
  words = new Uint32Array(this.id.buffer);

  constructor({ marks, firstTick }) {
    this.marks = marks;
    this.firstTick = firstTick;
  }

  take(/** @type {bigint} */ id) {
    this.id[0] = id;
    const [low, high] = [this.words[0], this.words[1]];
    const tick = high * TICKS_PER_HIGH_WORD + (low >>> (SEQUENCE_BITS + WORKER_BITS));
    this.mark((tick - this.firstTick) * (SEQUENCE_MAX + 1) + (low & SEQUENCE_MAX));
    const workerId = (low >>> SEQUENCE_BITS) & WORKER_MAX;
    this.anyWorkerBits |= workerId;
    this.allWorkerBits &= workerId;
    const { last } = this;
    if (high < last[1] || (high === last[1] && low < last[0])) this.back++;
    last[0] = low;
    last[1] = high;
    this.count++;
  }

  /** How far the last id is ahead of the clock; for every id this would be too slow. */
  noteAhead(/** @type {import('nestjs-snowflake').BitLayout} */ layout) {
    const idMs = layout.parse(this.id[0]).timestampMs;
    this.aheadMs = Math.max(this.aheadMs, idMs - Date.now());
  }

  mark(/** @type {number} */ at) {
    if (!(at >= 0 && at < this.marks.length * 32))
      throw new Error(`Id ${this.id[0]} has no place in the bitmap: ${at}.`);
    const bit = 1 << (at & 31);
    if ((Atomics.or(this.marks, at >>> 5, bit) & bit) !== 0) this.twice++;
  }
}

/** One id, however often it is refused; other threads may be faster for a long time. */
function nextId(ids, marker) {
  for (;;) {
    try {
      return ids.nextId();
    } catch (error) {
      if (error.code !== 'SEQUENCE_SPENT') throw error;
      marker.throws++;
    }
  }
}

takePart(({ sharedLease, begun, total, ...place }) => {
  const ids = joinSharedLease(sharedLease);
  const marker = new Marker(place);
  return () => {
    const startedNs = nowNs();
    while (Atomics.add(begun, 0, BATCH) < total) {
      for (let made = 0; made < BATCH; made++) marker.take(nextId(ids, marker));
      marker.noteAhead(ids.layout);
    }
    const endedNs = nowNs();
    const { count, twice, back, throws, aheadMs, anyWorkerBits, allWorkerBits } = marker;
    const { waitCount, rollbackCount } = ids;
    const faults = { twice, back, throws, anyWorkerBits, allWorkerBits };
    return { startedNs, endedNs, count, waitCount, rollbackCount, aheadMs, ...faults };
  };
});
