// The time of one id, by tinybench: one task in this process, a sample is a burst of ids.
//
// Guarantee: every result is kept until the next burst, so that the compiler cannot drop the work;
// a burst stays below the 4096 ids that the format has for a millisecond and begins with a fresh
// one, so that nobody waits, throws or runs ahead.
import { Bench } from 'tinybench';

export const BURST = 2048;

/** @typedef {{ count: number, samples?: number, isFresh?: boolean }} BurstOptions */

const SAMPLES = 300;

export function untilFreshMs() {
  const startedAt = Date.now();
  while (Date.now() === startedAt);
}

/** @returns {number} ns for one of the `count` things that a call of `burst` makes */
export function nsOfBurst(/** @type {() => void} */ burst, /** @type {BurstOptions} */ options) {
  const { count, samples = SAMPLES, isFresh = true } = options;
  const bench = new Bench({
    time: 0,
    iterations: samples,
    warmupTime: 0,
    warmupIterations: Math.ceil(samples / 3),
    throws: true,
  });
  const hooks = isFresh ? { beforeEach: untilFreshMs } : {};
  bench.add('burst', burst, { ...hooks, async: false });
  bench.runSync();
  const [{ result }] = bench.tasks;
  if (result.state !== 'completed') throw new Error(`Expected a completed task: ${result.state}.`);
  return (result.latency.p50 * 1e6) / count;
}

/** @returns {number} ns for one call of `next`; `count` is how many make a burst */
export function nsPerCall(/** @type {(at: number) => unknown} */ next, options = {}) {
  const { count = BURST, ...rest } = options;
  const kept = Array.from({ length: count });
  const burst = () => {
    for (let at = 0; at < count; at++) kept[at] = next(at);
  };
  const ns = nsOfBurst(burst, { count, ...rest });
  if (kept.includes(undefined)) throw new Error('A call gave nothing, so its time says nothing.');
  return ns;
}
