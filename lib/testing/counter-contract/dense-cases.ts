/**
 * What a store must do for a dense counter while it keeps what it acknowledged. Each case is one
 * property, in words.
 */
import { POSITION_MAX } from '../../counters/counter-store.js';
import { DENSE, type CounterBench, type CounterCase } from './counter-bench.js';

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
