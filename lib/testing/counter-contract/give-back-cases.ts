/**
 * What a store must do when a process gives back what it did not use of its last range. Each case
 * is one property, in words.
 */
import type { CounterBench, CounterCase } from './counter-bench.js';

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
