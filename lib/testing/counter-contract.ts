/**
 * The duties of a store for a counter that follows its clock. Each case is one property, in words.
 */
import { POSITION_MAX } from '../counters/counter-store.js';
import { CLOCK, DENSE, type CounterHarness, counterCases } from './counter-harness.js';

export const COUNTER_CLOCK_CASES = [
  ...counterCases(['clock'], {
    async 'grants positions of the clock, no further ahead of it than asked'(t) {
      const { first } = await t.tick();
      const least = BigInt(t.nowMs) * BigInt(CLOCK.perMs);
      t.expect(first >= least).toEqual(true);
      await t.advance(10 * CLOCK.aheadMs);
      const all = await t.tick({ count: 10n ** 9n });
      const [now, ceiling] = [positionAt(t.nowMs), positionAt(t.nowMs + CLOCK.aheadMs)];
      t.expect([all.first, all.end]).toEqual([now, ceiling]);
      t.waits(await t.clock(), 1);
      await t.advance(1);
      const next = await t.tick({ count: 10n ** 9n });
      t.expect([next.first, next.end]).toEqual([ceiling, ceiling + BigInt(CLOCK.perMs)]);
    },
    async 'rises although its clock goes back, again and again'(t) {
      let last = await t.tick();
      for (const stepMs of [-3_600_000, 500, -10, 3_600_000, -60_000, 1]) {
        await t.advance(stepMs);
        const next = await t.tick();
        t.follows(last, next);
        last = next;
      }
    },
    async 'follows its own clock, whatever a caller reckons with, unless it has lost something'(t) {
      await t.tick();
      await t.advance(10 * CLOCK.aheadMs);
      const reckonedMs = t.nowMs + 3_600_000;
      const { first } = await t.tick({ reckonedMs });
      t.expect(first).toEqual(positionAt(t.nowMs));
    },
    async 'continues after an end that somebody brings to a clock'(t) {
      const { end } = await t.tick();
      const have = end + 500n;
      const after = await t.tick({ have });
      t.expect(after.first >= have).toEqual(true);
    },
    async 'counts exactly in the finest unit'(t) {
      const perMs = 4_194_304;
      const fine = { counter: 'fine', perMs, count: 10n ** 12n };
      await t.tick(fine);
      await t.advance(10 * CLOCK.aheadMs);
      const { first, end } = await t.tick(fine);
      const units = BigInt(perMs);
      t.expect(first).toEqual(BigInt(t.nowMs) * units);
      t.expect(end).toEqual(BigInt(t.nowMs + CLOCK.aheadMs) * units);
    },
  }),
  ...counterCases(['clock', 'losses'], {
    async 'starts a clock that it does not know after all that may have been granted'(t) {
      const before = await t.tick({ count: 10n ** 9n });
      await t.happen('wipe');
      const floor = positionAt(t.nowMs + CLOCK.aheadMs + (await t.store()).lossWindowMs);
      const after = await t.tick();
      t.follows(before, after);
      t.expect(after.first >= floor).toEqual(true);
    },
    async 'is clear of all that an old server may still grant when another one answers'(t) {
      await t.tick();
      await t.happen('restart');
      const floor = positionAt(t.nowMs + CLOCK.aheadMs + (await t.store()).lossWindowMs);
      const after = await t.tick();
      t.expect(after.first >= floor).toEqual(true);
      t.expect(after.end <= positionAt(t.nowMs + CLOCK.aheadMs)).toEqual(true);
    },
    async 'repeats nothing of a clock when two losses come within one window'(t) {
      await t.tick();
      await t.happen('remember');
      const lost = await t.tick({ count: 10n ** 9n });
      await t.happen('restore');
      const between = await t.tick({ count: 10n ** 9n });
      await t.happen('restore');
      const after = await t.tick();
      t.follows(lost, between);
      t.follows(between, after);
    },
    async 'is clear of all that was granted although its clock was set back next to a loss'(t) {
      const { lossWindowMs } = await t.store();
      const stepMs = lossWindowMs + 3000;
      await t.tick();
      await t.happen('remember');
      // The step falls into a period without calls, so the data do not show it.
      await t.advance(2 * stepMs);
      const lost = await t.tick({ count: 10n ** 9n });
      await t.happen('restore');
      await t.advance(-stepMs);
      // A new process may call first, as long as it has to wait.
      if (lossWindowMs > 0) await t.clock();
      const { nowMs: reckonedMs } = lost;
      t.follows(lost, await t.tick({ reckonedMs }));
    },
    async 'is clear of all grants before its clock was set back, whoever asks after a loss'(t) {
      await t.tick();
      await t.happen('remember');
      const lost = await t.tick({ count: 10n ** 9n });
      await t.advance(-3_600_000);
      await t.happen('restore');
      t.follows(lost, await t.tick());
    },
  }),
  ...counterCases([], {
    async 'refuses another unit of a clock'(t) {
      await t.tick();
      const mismatch = { status: 'mismatch', stored: 'clock 1024 1/1' };
      t.expect(await t.clock({ perMs: 1 })).toEqual(mismatch);
      t.expect(await t.clock({ about: 't41-c12-s10' })).toEqual(mismatch);
      t.expect(await t.dense({ counter: 'event' })).toEqual(mismatch);
    },
  }),
];

const positionAt = (ms: number): bigint => BigInt(ms) * BigInt(CLOCK.perMs);

/* The duties of a store to a dense counter while all acknowledged writes remain. */

export const DENSE_CASES = [
  ...[2n ** 32n, 2n ** 53n, 2n ** 62n, 10n ** 9n, 10n ** 18n].map((around) => ({
    name: `counts exactly around ${around}`,
    needs: [],
    run: (harness: CounterHarness) => expectExact(harness, around),
  })),
  ...counterCases([], {
    async 'continues where the last range ended, from the first position on'(t) {
      const first = await t.begun();
      const next = await t.take({ have: first.end, count: 5n });
      t.expect([first.first, first.end, next.first, next.end]).toEqual([1n, 11n, 11n, 16n]);
      t.expect(next.era).toEqual(first.era);
    },
    async 'never creates a counter by itself'(t) {
      t.expect(await t.dense()).toEqual({ status: 'absent' });
      t.expect(await t.dense({ have: 500n })).toEqual({ status: 'absent' });
      t.expect((await t.begun({ startAt: 7n })).first).toEqual(7n);
      t.expect(await t.dense({ counter: 'other' })).toEqual({ status: 'absent' });
    },
    async 'takes no notice of a start where the counter is there'(t) {
      const { end } = await t.begun({ startAt: 100n });
      const again = await t.take({ startAt: 1n });
      t.expect(again.first).toEqual(end);
      const higher = await t.take({ startAt: 5000n });
      t.expect(higher.first).toEqual(again.end);
    },
    async 'grants another range when a take comes again because its answer was lost'(t) {
      const first = await t.begun();
      const lost = await t.take({ have: first.end });
      const again = await t.take({ have: first.end });
      t.follows(lost, again);
    },
    async 'counts to 2^63 - 1 and no further'(t) {
      const grant = await t.begun({ startAt: POSITION_MAX - 4n });
      t.expect([grant.first, grant.end]).toEqual([POSITION_MAX - 4n, POSITION_MAX]);
      t.expect(await t.dense()).toEqual({ status: 'full' });
      t.expect(await t.dense({ count: POSITION_MAX })).toEqual({ status: 'full' });
    },
    async 'is full where a jump would lead beyond 2^63 - 1'(t) {
      await t.begun({ startAt: POSITION_MAX - 500n, count: 1n });
      t.expect(await t.dense({ have: POSITION_MAX - 1n })).toEqual({ status: 'full' });
    },
    async 'refuses another store of several, and another kind, and says which it is'(t) {
      const { end } = await t.begun({ stores: '1/2' });
      const stored = 'dense 1/2';
      const mismatch = { status: 'mismatch', stored };
      t.expect(await t.dense({ stores: '2/2' })).toEqual(mismatch);
      t.expect(await t.dense({ stores: '1/3', startAt: 1n })).toEqual(mismatch);
      t.expect(await t.dense()).toEqual(mismatch);
      t.expect(await t.clock({ counter: 'order' })).toEqual(mismatch);
      const next = await t.take({ stores: '1/2' });
      t.expect(next.first).toEqual(end);
    },
    async 'counts each counter for itself'(t) {
      const order = await t.begun();
      const invoice = await t.begun({ counter: 'invoice/20261121', startAt: 100n });
      t.expect(invoice.first).toEqual(100n);
      const next = await t.take({ have: order.end });
      t.expect(next.first).toEqual(order.end);
    },
    async 'refuses what cannot be meant so, before anything is stored'(t) {
      const store = await t.store();
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
        t.expect([changes, code]).toEqual([changes, 'CONFIG_INVALID']);
      }
      t.expect(await t.dense()).toEqual({ status: 'absent' });
    },
  }),
  ...counterCases(['create'], {
    async 'creates a counter for an operator once, and never changes one'(t) {
      const store = await t.store();
      t.expect(await store.create!({ counter: 'order', start: 40n })).toEqual(true);
      t.expect(await store.create!({ counter: 'order', start: 1n })).toEqual(false);
      t.expect((await t.take()).first).toEqual(40n);
      t.expect(await store.create!({ counter: 'order', start: 1n })).toEqual(false);
      t.expect((await t.take()).first).toEqual(50n);
    },
  }),
  ...counterCases(['counters'], {
    async 'lists its counters'(t) {
      const store = await t.store();
      t.expect(await store.counters!()).toEqual([]);
      const { end } = await t.begun({ startAt: 2n ** 60n, stores: '2/3' });
      const event = await t.tick();
      const listed = (await store.counters!()).map(({ counter, form, next, waitMs }) => [
        counter,
        form,
        next,
        waitMs,
      ]);
      t.expect(listed).toEqual([
        ['event', 'clock 1024 1/1', event.end, 0],
        ['order', 'dense 2/3', end, 0],
      ]);
    },
  }),
];

/**
 * Expects exact positions in a grant that ends at a given position, in a grant right after it, and
 * in a jump. Doubles would round them.
 */
async function expectExact(harness: CounterHarness, around: bigint): Promise<void> {
  const { first, end } = await harness.begun({ startAt: around - 3n, count: 3n });
  harness.expect([first, end]).toEqual([around - 3n, around]);
  const next = await harness.take({ have: end, count: 7n });
  harness.expect([next.first, next.end]).toEqual([around, around + 7n]);
  const have = next.end + 1n;
  const jumped = await harness.take({ have });
  harness.expect(jumped.first).toEqual(have + DENSE.lossGap);
}

/* The duties of a store when a process returns the unused part of its last range. */

export const GIVE_BACK_CASES = [
  ...counterCases(['giveBack'], {
    async 'grants again what was given back'(t) {
      const { grant, first } = await t.begun();
      await back(t, grant, 7n);
      const next = await t.take({ have: first + 3n });
      t.expect(next.first).toEqual(first + 3n);
    },
    async 'takes back a whole range'(t) {
      await t.begun();
      const { grant, first, end } = await t.take();
      await back(t, grant, end - first);
      t.expect((await t.take()).first).toEqual(first);
    },
    async 'takes nothing back once somebody else took'(t) {
      const { grant } = await t.begun();
      const other = await t.take();
      await back(t, grant, 5n);
      t.expect((await t.take()).first).toEqual(other.end);
    },
    async 'takes nothing back twice, also where another range ends at the same position by now'(t) {
      const { grant, first, end } = await t.begun();
      await back(t, grant, 4n);
      const other = await t.take({ count: 4n });
      t.expect([other.first, other.end]).toEqual([end - 4n, end]);
      await back(t, grant, 4n);
      t.expect((await t.take()).first).toEqual(other.end);
      t.expect(first < other.first).toEqual(true);
    },
    async 'takes back no more than was granted, and nothing of a grant that it does not know'(t) {
      await t.begun();
      const { grant, end } = await t.take();
      for (const unused of [11n, 0n, -5n]) await back(t, grant, unused);
      for (const unknown of ['', 'nothing', '1.x.order', `${grant}2`, grant.slice(1)]) {
        await back(t, unknown, 1n);
      }
      t.expect((await t.take()).first).toEqual(end);
    },
    async 'takes nothing back of a clock'(t) {
      const { grant, end } = await t.tick();
      await back(t, grant, 5n);
      const next = await t.tick();
      t.expect(next.first >= end).toEqual(true);
    },
  }),
  ...counterCases(['giveBack', 'clock', 'losses'], {
    async 'takes nothing back after a loss, before and after the counter has jumped'(t) {
      const { grant } = await t.begun();
      await t.happen('remember');
      const lost = await t.take({ count: 400n });
      await t.happen('restore');
      await back(t, grant, 10n);
      const after = await t.take({ lossGap: 1000n });
      t.expect(after.first).toEqual(lost.first + 1000n);
      await back(t, grant, 10n);
      t.expect((await t.take()).first).toEqual(after.end);
    },
  }),
  ...counterCases(['giveBack', 'losses'], {
    async 'takes nothing back of a counter that is gone, and creates none'(t) {
      const { grant } = await t.begun();
      await t.happen('wipe');
      await back(t, grant, 3n);
      t.expect(await t.dense()).toEqual({ status: 'absent' });
    },
  }),
];

async function back(harness: CounterHarness, grant: string, unused: bigint): Promise<void> {
  await (
    await harness.store()
  ).giveBack!(grant, unused);
}
