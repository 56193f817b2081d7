/**
 * What a store must do for a counter that follows its clock.
 * Each case is one property, in words.
 */
import { CLOCK, type CounterCase } from './counter-bench.js';

export const COUNTER_CLOCK_CASES: readonly CounterCase[] = [
  {
    name: 'grants positions of the clock, no further ahead of it than asked',
    needs: ['clock'],
    async run(bench) {
      const { first } = await bench.granted(() => bench.clock());
      const least = BigInt(bench.nowMs) * BigInt(CLOCK.perMs);
      bench.expect(first >= least).toEqual(true);
      await bench.advance(10 * CLOCK.aheadMs);
      const all = await bench.granted(() => bench.clock({ count: 10n ** 9n }));
      const [now, ceiling] = [positionAt(bench.nowMs), positionAt(bench.nowMs + CLOCK.aheadMs)];
      bench.expect([all.first, all.end]).toEqual([now, ceiling]);
      const answer = await bench.clock();
      bench.expect(answer).toEqual({ status: 'wait', waitMs: 1 });
      await bench.advance(1);
      const next = await bench.granted(() => bench.clock({ count: 10n ** 9n }));
      bench.expect([next.first, next.end]).toEqual([ceiling, ceiling + BigInt(CLOCK.perMs)]);
    },
  },
  {
    name: 'rises although its clock goes back, again and again',
    needs: ['clock'],
    async run(bench) {
      let last = await bench.granted(() => bench.clock());
      for (const stepMs of [-3_600_000, 500, -10, 3_600_000, -60_000, 1]) {
        await bench.advance(stepMs);
        const next = await bench.granted(() => bench.clock());
        bench.follows(last, next);
        last = next;
      }
    },
  },
  {
    name: 'starts a clock that it does not know after all that may have been granted',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.granted(() => bench.clock({ count: 10n ** 9n }));
      await bench.happen('wipe');
      const floor = positionAt(bench.nowMs + CLOCK.aheadMs + (await bench.store()).lossWindowMs);
      const after = await bench.granted(() => bench.clock());
      bench.follows(before, after);
      bench.expect(after.first >= floor).toEqual(true);
    },
  },
  {
    name: 'is clear of all that an old server may still grant when another one answers',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.granted(() => bench.clock());
      await bench.happen('restart');
      const floor = positionAt(bench.nowMs + CLOCK.aheadMs + (await bench.store()).lossWindowMs);
      const after = await bench.granted(() => bench.clock());
      bench.expect(after.first >= floor).toEqual(true);
      bench.expect(after.end <= positionAt(bench.nowMs + CLOCK.aheadMs)).toEqual(true);
    },
  },
  {
    name: 'repeats nothing of a clock when two losses come within one window',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.granted(() => bench.clock());
      await bench.happen('remember');
      const lost = await bench.granted(() => bench.clock({ count: 10n ** 9n }));
      await bench.happen('restore');
      const between = await bench.granted(() => bench.clock({ count: 10n ** 9n }));
      await bench.happen('restore');
      const after = await bench.granted(() => bench.clock());
      bench.follows(lost, between);
      bench.follows(between, after);
    },
  },
  {
    name: 'continues after an end that somebody brings to a clock',
    needs: ['clock'],
    async run(bench) {
      const { end } = await bench.granted(() => bench.clock());
      const have = end + 500n;
      const after = await bench.granted(() => bench.clock({ have }));
      bench.expect(after.first >= have).toEqual(true);
    },
  },
  {
    name: 'refuses another unit of a clock',
    needs: [],
    async run(bench) {
      await bench.granted(() => bench.clock());
      const mismatch = { status: 'mismatch', stored: 'clock 1024 1/1' };
      bench.expect(await bench.clock({ perMs: 1 })).toEqual(mismatch);
      bench.expect(await bench.clock({ about: 't41-c12-s10' })).toEqual(mismatch);
      bench.expect(await bench.dense({ counter: 'event' })).toEqual(mismatch);
    },
  },
  {
    name: 'counts exactly in the finest unit',
    needs: ['clock'],
    async run(bench) {
      const perMs = 4_194_304;
      const taken = () => bench.clock({ counter: 'fine', perMs, count: 10n ** 12n });
      await bench.granted(taken);
      await bench.advance(10 * CLOCK.aheadMs);
      const { first, end } = await bench.granted(taken);
      const units = BigInt(perMs);
      bench.expect(first).toEqual(BigInt(bench.nowMs) * units);
      bench.expect(end).toEqual(BigInt(bench.nowMs + CLOCK.aheadMs) * units);
    },
  },
];

const positionAt = (ms: number): bigint => BigInt(ms) * BigInt(CLOCK.perMs);
