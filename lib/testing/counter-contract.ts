/**
 * The duties of a store for a counter that follows its clock. Each case is one property, in words.
 * The cases of all kinds of counters stand in one file.
 */
import { POSITION_MAX } from '../counters/counter-store.js';
import { CLOCK, DENSE, type CounterHarness, type CounterCase } from './counter-harness.js';

export const COUNTER_CLOCK_CASES: readonly CounterCase[] = [
  {
    name: 'grants positions of the clock, no further ahead of it than asked',
    needs: ['clock'],
    async run(harness) {
      const { first } = await harness.grantOf(() => harness.clock());
      const least = BigInt(harness.nowMs) * BigInt(CLOCK.perMs);
      harness.expect(first >= least).toEqual(true);
      await harness.advance(10 * CLOCK.aheadMs);
      const all = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      const [now, ceiling] = [positionAt(harness.nowMs), positionAt(harness.nowMs + CLOCK.aheadMs)];
      harness.expect([all.first, all.end]).toEqual([now, ceiling]);
      harness.waits(await harness.clock(), 1);
      await harness.advance(1);
      const next = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      harness.expect([next.first, next.end]).toEqual([ceiling, ceiling + BigInt(CLOCK.perMs)]);
    },
  },
  {
    name: 'rises although its clock goes back, again and again',
    needs: ['clock'],
    async run(harness) {
      let last = await harness.grantOf(() => harness.clock());
      for (const stepMs of [-3_600_000, 500, -10, 3_600_000, -60_000, 1]) {
        await harness.advance(stepMs);
        const next = await harness.grantOf(() => harness.clock());
        harness.follows(last, next);
        last = next;
      }
    },
  },
  {
    name: 'starts a clock that it does not know after all that may have been granted',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      await harness.happen('wipe');
      const floor = positionAt(
        harness.nowMs + CLOCK.aheadMs + (await harness.store()).lossWindowMs,
      );
      const after = await harness.grantOf(() => harness.clock());
      harness.follows(before, after);
      harness.expect(after.first >= floor).toEqual(true);
    },
  },
  {
    name: 'is clear of all that an old server may still grant when another one answers',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.grantOf(() => harness.clock());
      await harness.happen('restart');
      const floor = positionAt(
        harness.nowMs + CLOCK.aheadMs + (await harness.store()).lossWindowMs,
      );
      const after = await harness.grantOf(() => harness.clock());
      harness.expect(after.first >= floor).toEqual(true);
      harness.expect(after.end <= positionAt(harness.nowMs + CLOCK.aheadMs)).toEqual(true);
    },
  },
  {
    name: 'repeats nothing of a clock when two losses come within one window',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.grantOf(() => harness.clock());
      await harness.happen('remember');
      const lost = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      await harness.happen('restore');
      const between = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      await harness.happen('restore');
      const after = await harness.grantOf(() => harness.clock());
      harness.follows(lost, between);
      harness.follows(between, after);
    },
  },
  {
    name: 'is clear of all that was granted although its clock was set back beside a loss',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { lossWindowMs } = await harness.store();
      const stepMs = lossWindowMs + 3000;
      await harness.grantOf(() => harness.clock());
      await harness.happen('remember');
      // The step lies within the time in which nobody asked, so the data do not show it.
      await harness.advance(2 * stepMs);
      const lost = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      await harness.happen('restore');
      await harness.advance(-stepMs);
      // A newcomer may ask first, as long as it has to wait.
      if (lossWindowMs > 0) await harness.clock();
      const { nowMs: reckonedMs } = lost;
      harness.follows(lost, await harness.grantOf(() => harness.clock({ reckonedMs })));
    },
  },
  {
    name: 'is clear of all that was granted before its clock was set back, whoever asks after a loss',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.grantOf(() => harness.clock());
      await harness.happen('remember');
      const lost = await harness.grantOf(() => harness.clock({ count: 10n ** 9n }));
      await harness.advance(-3_600_000);
      await harness.happen('restore');
      harness.follows(lost, await harness.grantOf(() => harness.clock()));
    },
  },
  {
    name: 'follows its own clock, whatever a caller reckons with, unless it has lost something',
    needs: ['clock'],
    async run(harness) {
      await harness.grantOf(() => harness.clock());
      await harness.advance(10 * CLOCK.aheadMs);
      const reckonedMs = harness.nowMs + 3_600_000;
      const { first } = await harness.grantOf(() => harness.clock({ reckonedMs }));
      harness.expect(first).toEqual(positionAt(harness.nowMs));
    },
  },
  {
    name: 'continues after an end that somebody brings to a clock',
    needs: ['clock'],
    async run(harness) {
      const { end } = await harness.grantOf(() => harness.clock());
      const have = end + 500n;
      const after = await harness.grantOf(() => harness.clock({ have }));
      harness.expect(after.first >= have).toEqual(true);
    },
  },
  {
    name: 'refuses another unit of a clock',
    needs: [],
    async run(harness) {
      await harness.grantOf(() => harness.clock());
      const mismatch = { status: 'mismatch', stored: 'clock 1024 1/1' };
      harness.expect(await harness.clock({ perMs: 1 })).toEqual(mismatch);
      harness.expect(await harness.clock({ about: 't41-c12-s10' })).toEqual(mismatch);
      harness.expect(await harness.dense({ counter: 'event' })).toEqual(mismatch);
    },
  },
  {
    name: 'counts exactly in the finest unit',
    needs: ['clock'],
    async run(harness) {
      const perMs = 4_194_304;
      const taken = () => harness.clock({ counter: 'fine', perMs, count: 10n ** 12n });
      await harness.grantOf(taken);
      await harness.advance(10 * CLOCK.aheadMs);
      const { first, end } = await harness.grantOf(taken);
      const units = BigInt(perMs);
      harness.expect(first).toEqual(BigInt(harness.nowMs) * units);
      harness.expect(end).toEqual(BigInt(harness.nowMs + CLOCK.aheadMs) * units);
    },
  },
];

const positionAt = (ms: number): bigint => BigInt(ms) * BigInt(CLOCK.perMs);

/* The duties of a store for a dense counter while it keeps what it acknowledged. */

export const DENSE_CASES: readonly CounterCase[] = [
  {
    name: 'goes on where the last range ended, from the first position on',
    needs: [],
    async run(harness) {
      const first = await harness.begun();
      const next = await harness.grantOf(() => harness.dense({ have: first.end, count: 5n }));
      harness.expect([first.first, first.end, next.first, next.end]).toEqual([1n, 11n, 11n, 16n]);
      harness.expect(next.era).toEqual(first.era);
    },
  },
  {
    name: 'never creates a counter by itself',
    needs: [],
    async run(harness) {
      harness.expect(await harness.dense()).toEqual({ status: 'absent' });
      harness.expect(await harness.dense({ have: 500n })).toEqual({ status: 'absent' });
      harness.expect((await harness.begun({ startAt: 7n })).first).toEqual(7n);
      harness.expect(await harness.dense({ counter: 'other' })).toEqual({ status: 'absent' });
    },
  },
  {
    name: 'takes no notice of a start where the counter is there',
    needs: [],
    async run(harness) {
      const { end } = await harness.begun({ startAt: 100n });
      const again = await harness.grantOf(() => harness.dense({ startAt: 1n }));
      harness.expect(again.first).toEqual(end);
      const higher = await harness.grantOf(() => harness.dense({ startAt: 5000n }));
      harness.expect(higher.first).toEqual(again.end);
    },
  },
  {
    name: 'creates a counter for an operator once, and never changes one',
    needs: ['create'],
    async run(harness) {
      const store = await harness.store();
      harness.expect(await store.create!({ counter: 'order', start: 40n })).toEqual(true);
      harness.expect(await store.create!({ counter: 'order', start: 1n })).toEqual(false);
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(40n);
      harness.expect(await store.create!({ counter: 'order', start: 1n })).toEqual(false);
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(50n);
    },
  },
  {
    name: 'grants another range when a take comes again because its answer was lost',
    needs: [],
    async run(harness) {
      const first = await harness.begun();
      const lost = await harness.grantOf(() => harness.dense({ have: first.end }));
      const again = await harness.grantOf(() => harness.dense({ have: first.end }));
      harness.follows(lost, again);
    },
  },
  {
    name: 'counts to 2^63 - 1 and no further',
    needs: [],
    async run(harness) {
      const grant = await harness.begun({ startAt: POSITION_MAX - 4n });
      harness.expect([grant.first, grant.end]).toEqual([POSITION_MAX - 4n, POSITION_MAX]);
      harness.expect(await harness.dense()).toEqual({ status: 'full' });
      harness.expect(await harness.dense({ count: POSITION_MAX })).toEqual({ status: 'full' });
    },
  },
  {
    name: 'is full where a jump would lead beyond 2^63 - 1',
    needs: [],
    async run(harness) {
      await harness.begun({ startAt: POSITION_MAX - 500n, count: 1n });
      harness.expect(await harness.dense({ have: POSITION_MAX - 1n })).toEqual({ status: 'full' });
    },
  },
  ...[2n ** 32n, 2n ** 53n, 2n ** 62n, 10n ** 9n, 10n ** 18n].map((around) => ({
    name: `counts exactly around ${around}`,
    needs: [],
    run: (harness: CounterHarness) => expectExact(harness, around),
  })),
  {
    name: 'refuses another store of several, and another kind, and says which it is',
    needs: [],
    async run(harness) {
      const { end } = await harness.begun({ stores: '1/2' });
      const stored = 'dense 1/2';
      const mismatch = { status: 'mismatch', stored };
      harness.expect(await harness.dense({ stores: '2/2' })).toEqual(mismatch);
      harness.expect(await harness.dense({ stores: '1/3', startAt: 1n })).toEqual(mismatch);
      harness.expect(await harness.dense()).toEqual(mismatch);
      harness.expect(await harness.clock({ counter: 'order' })).toEqual(mismatch);
      const next = await harness.grantOf(() => harness.dense({ stores: '1/2' }));
      harness.expect(next.first).toEqual(end);
    },
  },
  {
    name: 'counts each counter for itself',
    needs: [],
    async run(harness) {
      const order = await harness.begun();
      const invoice = await harness.begun({ counter: 'invoice/20261121', startAt: 100n });
      harness.expect(invoice.first).toEqual(100n);
      const next = await harness.grantOf(() => harness.dense({ have: order.end }));
      harness.expect(next.first).toEqual(order.end);
    },
  },
  {
    name: 'lists its counters',
    needs: ['counters'],
    async run(harness) {
      const store = await harness.store();
      harness.expect(await store.counters!()).toEqual([]);
      const { end } = await harness.begun({ startAt: 2n ** 60n, stores: '2/3' });
      const event = await harness.grantOf(() => harness.clock());
      const listed = (await store.counters!()).map(({ counter, form, next, waitMs }) => [
        counter,
        form,
        next,
        waitMs,
      ]);
      harness.expect(listed).toEqual([
        ['event', 'clock 1024 1/1', event.end, 0],
        ['order', 'dense 2/3', end, 0],
      ]);
    },
  },
  {
    name: 'refuses what cannot be meant so, before anything is stored',
    needs: [],
    async run(harness) {
      const store = await harness.store();
      const faulty = [
        { count: 0n },
        { count: 1 as unknown as bigint },
        { have: -1n },
        { lossGap: 1n },
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
        harness.expect([changes, code]).toEqual([changes, 'CONFIG_INVALID']);
      }
      harness.expect(await harness.dense()).toEqual({ status: 'absent' });
    },
  },
];

/**
 * Expects exact positions in a grant that ends at a position, one after it, and a jump: doubles
 * would be off by some.
 */
async function expectExact(harness: CounterHarness, around: bigint): Promise<void> {
  const { first, end } = await harness.begun({ startAt: around - 3n, count: 3n });
  harness.expect([first, end]).toEqual([around - 3n, around]);
  const next = await harness.grantOf(() => harness.dense({ have: end, count: 7n }));
  harness.expect([next.first, next.end]).toEqual([around, around + 7n]);
  const have = next.end + 1n;
  const jumped = await harness.grantOf(() => harness.dense({ have }));
  harness.expect(jumped.first).toEqual(have + DENSE.lossGap);
}

/* The duties of a store when a process gives back the unused part of its last range. */

export const GIVE_BACK_CASES: readonly CounterCase[] = [
  {
    name: 'grants again what was given back',
    needs: ['giveBack'],
    async run(harness) {
      const { grant, first } = await harness.begun();
      await back(harness, grant, 7n);
      const next = await harness.grantOf(() => harness.dense({ have: first + 3n }));
      harness.expect(next.first).toEqual(first + 3n);
    },
  },
  {
    name: 'takes back a whole range',
    needs: ['giveBack'],
    async run(harness) {
      await harness.begun();
      const { grant, first, end } = await harness.grantOf(() => harness.dense());
      await back(harness, grant, end - first);
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(first);
    },
  },
  {
    name: 'takes nothing back once somebody else took',
    needs: ['giveBack'],
    async run(harness) {
      const { grant } = await harness.begun();
      const other = await harness.grantOf(() => harness.dense());
      await back(harness, grant, 5n);
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(other.end);
    },
  },
  {
    name: 'takes nothing back twice, also where another range ends at the same position by now',
    needs: ['giveBack'],
    async run(harness) {
      const { grant, first, end } = await harness.begun();
      await back(harness, grant, 4n);
      const other = await harness.grantOf(() => harness.dense({ count: 4n }));
      harness.expect([other.first, other.end]).toEqual([end - 4n, end]);
      await back(harness, grant, 4n);
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(other.end);
      harness.expect(first < other.first).toEqual(true);
    },
  },
  {
    name: 'takes back no more than was granted, and nothing of a grant that it does not know',
    needs: ['giveBack'],
    async run(harness) {
      await harness.begun();
      const { grant, end } = await harness.grantOf(() => harness.dense());
      for (const unused of [11n, 0n, -5n]) await back(harness, grant, unused);
      for (const unknown of ['', 'nothing', '1.x.order', `${grant}2`, grant.slice(1)]) {
        await back(harness, unknown, 1n);
      }
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(end);
    },
  },
  {
    name: 'takes nothing back after a loss, before and after the counter has jumped',
    needs: ['giveBack', 'clock', 'losses'],
    async run(harness) {
      const { grant } = await harness.begun();
      await harness.happen('remember');
      const lost = await harness.grantOf(() => harness.dense({ count: 400n }));
      await harness.happen('restore');
      await back(harness, grant, 10n);
      const after = await harness.grantOf(() => harness.dense({ lossGap: 1000n }));
      harness.expect(after.first).toEqual(lost.first + 1000n);
      await back(harness, grant, 10n);
      harness.expect((await harness.grantOf(() => harness.dense())).first).toEqual(after.end);
    },
  },
  {
    name: 'takes nothing back of a counter that is gone, and creates none',
    needs: ['giveBack', 'losses'],
    async run(harness) {
      const { grant } = await harness.begun();
      await harness.happen('wipe');
      await back(harness, grant, 3n);
      harness.expect(await harness.dense()).toEqual({ status: 'absent' });
    },
  },
  {
    name: 'takes nothing back of a clock',
    needs: ['giveBack'],
    async run(harness) {
      const { grant, end } = await harness.grantOf(() => harness.clock());
      await back(harness, grant, 5n);
      const next = await harness.grantOf(() => harness.clock());
      harness.expect(next.first >= end).toEqual(true);
    },
  },
];

async function back(harness: CounterHarness, grant: string, unused: bigint): Promise<void> {
  await (
    await harness.store()
  ).giveBack!(grant, unused);
}
