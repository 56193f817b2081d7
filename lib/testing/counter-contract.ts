/**
 * What a store must do for a counter that follows its clock.
 * Each case is one property, in words. The cases of one kind of counter stand in one file.
 */
import { POSITION_MAX } from '../counters/counter-store.js';
import { CLOCK, DENSE, type CounterBench, type CounterCase } from './counter-bench.js';

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

/*
 * What a store must do for a dense counter while it keeps what it acknowledged. Each case is one
 * property, in words.
 */

export const DENSE_CASES: readonly CounterCase[] = [
  {
    name: 'goes on where the last range ended, from the first position on',
    needs: [],
    async run(bench) {
      const first = await bench.begun();
      const next = await bench.granted(() => bench.dense({ have: first.end, count: 5n }));
      bench.expect([first.first, first.end, next.first, next.end]).toEqual([1n, 11n, 11n, 16n]);
      bench.expect(next.era).toEqual(first.era);
    },
  },
  {
    name: 'never creates a counter by itself',
    needs: [],
    async run(bench) {
      bench.expect(await bench.dense()).toEqual({ status: 'absent' });
      bench.expect(await bench.dense({ have: 500n })).toEqual({ status: 'absent' });
      bench.expect((await bench.begun({ startAt: 7n })).first).toEqual(7n);
      bench.expect(await bench.dense({ counter: 'other' })).toEqual({ status: 'absent' });
    },
  },
  {
    name: 'takes no notice of a start where the counter is there',
    needs: [],
    async run(bench) {
      const { end } = await bench.begun({ startAt: 100n });
      const again = await bench.granted(() => bench.dense({ startAt: 1n }));
      bench.expect(again.first).toEqual(end);
      const higher = await bench.granted(() => bench.dense({ startAt: 5000n }));
      bench.expect(higher.first).toEqual(again.end);
    },
  },
  {
    name: 'creates a counter for an operator once, and never changes one',
    needs: ['create'],
    async run(bench) {
      const store = await bench.store();
      bench.expect(await store.create!({ counter: 'order', start: 40n })).toEqual(true);
      bench.expect(await store.create!({ counter: 'order', start: 1n })).toEqual(false);
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(40n);
      bench.expect(await store.create!({ counter: 'order', start: 1n })).toEqual(false);
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(50n);
    },
  },
  {
    name: 'grants another range when a take comes again because its answer was lost',
    needs: [],
    async run(bench) {
      const first = await bench.begun();
      const lost = await bench.granted(() => bench.dense({ have: first.end }));
      const again = await bench.granted(() => bench.dense({ have: first.end }));
      bench.follows(lost, again);
    },
  },
  {
    name: 'counts to 2^63 - 1 and no further',
    needs: [],
    async run(bench) {
      const grant = await bench.begun({ startAt: POSITION_MAX - 4n });
      bench.expect([grant.first, grant.end]).toEqual([POSITION_MAX - 4n, POSITION_MAX]);
      bench.expect(await bench.dense()).toEqual({ status: 'full' });
      bench.expect(await bench.dense({ count: POSITION_MAX })).toEqual({ status: 'full' });
    },
  },
  {
    name: 'is full where a jump would lead beyond 2^63 - 1',
    needs: [],
    async run(bench) {
      await bench.begun({ startAt: POSITION_MAX - 500n, count: 1n });
      bench.expect(await bench.dense({ have: POSITION_MAX - 1n })).toEqual({ status: 'full' });
    },
  },
  ...[2n ** 32n, 2n ** 53n, 2n ** 62n, 10n ** 9n, 10n ** 18n].map((around) => ({
    name: `counts exactly around ${around}`,
    needs: [],
    run: (bench: CounterBench) => expectExact(bench, around),
  })),
  {
    name: 'refuses another store of several, and another kind, and says which it is',
    needs: [],
    async run(bench) {
      const { end } = await bench.begun({ stores: '1/2' });
      const stored = 'dense 1/2';
      const mismatch = { status: 'mismatch', stored };
      bench.expect(await bench.dense({ stores: '2/2' })).toEqual(mismatch);
      bench.expect(await bench.dense({ stores: '1/3', startAt: 1n })).toEqual(mismatch);
      bench.expect(await bench.dense()).toEqual(mismatch);
      bench.expect(await bench.clock({ counter: 'order' })).toEqual(mismatch);
      const next = await bench.granted(() => bench.dense({ stores: '1/2' }));
      bench.expect(next.first).toEqual(end);
    },
  },
  {
    name: 'counts each counter for itself',
    needs: [],
    async run(bench) {
      const order = await bench.begun();
      const invoice = await bench.begun({ counter: 'invoice/20261121', startAt: 100n });
      bench.expect(invoice.first).toEqual(100n);
      const next = await bench.granted(() => bench.dense({ have: order.end }));
      bench.expect(next.first).toEqual(order.end);
    },
  },
  {
    name: 'lists its counters',
    needs: ['counters'],
    async run(bench) {
      const store = await bench.store();
      bench.expect(await store.counters!()).toEqual([]);
      const { end } = await bench.begun({ startAt: 2n ** 60n, stores: '2/3' });
      const event = await bench.granted(() => bench.clock());
      const listed = (await store.counters!()).map(({ counter, form, next, waitMs }) => [
        counter,
        form,
        next,
        waitMs,
      ]);
      bench.expect(listed).toEqual([
        ['event', 'clock 1024 1/1', event.end, 0],
        ['order', 'dense 2/3', end, 0],
      ]);
    },
  },
  {
    name: 'refuses what cannot be meant so, before anything is stored',
    needs: [],
    async run(bench) {
      const store = await bench.store();
      const faulty = [
        { count: 0n },
        { count: 1 as unknown as bigint },
        { have: -1n },
        { skip: 1n },
        { startAt: 2n ** 63n },
        { stores: '3/2' },
        { stores: '0/1' },
        { counter: 'a b' },
        { counter: '' },
        { kind: 'other' as 'dense' },
      ];
      for (const changes of faulty) {
        const call = store.take({ ...DENSE, startAt: 1n, ...changes });
        const code = await call.then(
          () => 'nothing',
          (error: unknown) => (error as { code?: unknown }).code,
        );
        bench.expect([changes, code]).toEqual([changes, 'CONFIG_INVALID']);
      }
      bench.expect(await bench.dense()).toEqual({ status: 'absent' });
    },
  },
];

/** A grant that ends at a position, one after it, and a jump: doubles would be off by some. */
async function expectExact(bench: CounterBench, around: bigint): Promise<void> {
  const { first, end } = await bench.begun({ startAt: around - 3n, count: 3n });
  bench.expect([first, end]).toEqual([around - 3n, around]);
  const next = await bench.granted(() => bench.dense({ have: end, count: 7n }));
  bench.expect([next.first, next.end]).toEqual([around, around + 7n]);
  const have = next.end + 1n;
  const jumped = await bench.granted(() => bench.dense({ have }));
  bench.expect(jumped.first).toEqual(have + DENSE.skip);
}

/*
 * What a store must do when a process gives back what it did not use of its last range. Each case
 * is one property, in words.
 */

export const GIVE_BACK_CASES: readonly CounterCase[] = [
  {
    name: 'grants again what was given back',
    needs: ['giveBack'],
    async run(bench) {
      const { grant, first } = await bench.begun();
      await back(bench, grant, 7n);
      const next = await bench.granted(() => bench.dense({ have: first + 3n }));
      bench.expect(next.first).toEqual(first + 3n);
    },
  },
  {
    name: 'takes back a whole range',
    needs: ['giveBack'],
    async run(bench) {
      await bench.begun();
      const { grant, first, end } = await bench.granted(() => bench.dense());
      await back(bench, grant, end - first);
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(first);
    },
  },
  {
    name: 'takes nothing back once somebody else took',
    needs: ['giveBack'],
    async run(bench) {
      const { grant } = await bench.begun();
      const other = await bench.granted(() => bench.dense());
      await back(bench, grant, 5n);
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(other.end);
    },
  },
  {
    name: 'takes nothing back twice, also where another range ends at the same position by now',
    needs: ['giveBack'],
    async run(bench) {
      const { grant, first, end } = await bench.begun();
      await back(bench, grant, 4n);
      const other = await bench.granted(() => bench.dense({ count: 4n }));
      bench.expect([other.first, other.end]).toEqual([end - 4n, end]);
      await back(bench, grant, 4n);
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(other.end);
      bench.expect(first < other.first).toEqual(true);
    },
  },
  {
    name: 'takes back no more than was granted, and nothing of a grant that it does not know',
    needs: ['giveBack'],
    async run(bench) {
      await bench.begun();
      const { grant, end } = await bench.granted(() => bench.dense());
      for (const unused of [11n, 0n, -5n]) await back(bench, grant, unused);
      for (const unknown of ['', 'nothing', '1.x.order', `${grant}2`, grant.slice(1)]) {
        await back(bench, unknown, 1n);
      }
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(end);
    },
  },
  {
    name: 'takes nothing back after a loss, before and after the counter has jumped',
    needs: ['giveBack', 'clock', 'losses'],
    async run(bench) {
      const { grant } = await bench.begun();
      await bench.happen('remember');
      const lost = await bench.granted(() => bench.dense({ count: 400n }));
      await bench.happen('restore');
      await back(bench, grant, 10n);
      const after = await bench.granted(() => bench.dense({ skip: 1000n }));
      bench.expect(after.first).toEqual(lost.first + 1000n);
      await back(bench, grant, 10n);
      bench.expect((await bench.granted(() => bench.dense())).first).toEqual(after.end);
    },
  },
  {
    name: 'takes nothing back of a counter that is gone, and creates none',
    needs: ['giveBack', 'losses'],
    async run(bench) {
      const { grant } = await bench.begun();
      await bench.happen('wipe');
      await back(bench, grant, 3n);
      bench.expect(await bench.dense()).toEqual({ status: 'absent' });
    },
  },
  {
    name: 'takes nothing back of a clock',
    needs: ['giveBack'],
    async run(bench) {
      const { grant, end } = await bench.granted(() => bench.clock());
      await back(bench, grant, 5n);
      const next = await bench.granted(() => bench.clock());
      bench.expect(next.first >= end).toEqual(true);
    },
  },
];

async function back(bench: CounterBench, grant: string, unused: bigint): Promise<void> {
  await (
    await bench.store()
  ).giveBack!(grant, unused);
}
