/**
 * What a store must do when many processes ask at once.
 * Each case is one property, in words.
 */
import type { TakeGrant } from '../../counters/counter-store.js';
import { DENSE, type CounterBench, type CounterCase } from './counter-bench.js';

const RACE_COUNT = 50;

export const COUNTER_RACE_CASES: readonly CounterCase[] = [
  {
    name: `keeps apart ${RACE_COUNT} who take at once`,
    needs: [],
    async run(bench) {
      await bench.begun();
      await race(bench, (at) => ({ count: BigInt(1 + (at % 3)) }));
    },
  },
  {
    name: `keeps apart ${RACE_COUNT} who create the counter at once`,
    needs: [],
    async run(bench) {
      const grants = await race(bench, () => ({ startAt: 1n, count: 2n }));
      const firsts = grants.map(({ first }) => first);
      bench.expect(firsts.some((first) => first === 1n)).toEqual(true);
    },
  },
];

async function race(
  bench: CounterBench,
  asked: (at: number) => { startAt?: bigint; count: bigint },
): Promise<TakeGrant[]> {
  const stores = [await bench.store(), await bench.another(), await bench.another()];
  const grants = await Promise.all(
    Array.from({ length: RACE_COUNT }, (_, at) =>
      bench.granted(() => stores[at % stores.length]!.take({ ...DENSE, ...asked(at) })),
    ),
  );
  const inOrder = grants.toSorted((a, b) => (a.first < b.first ? -1 : 1));
  for (const [at, grant] of inOrder.entries()) {
    bench.expect(grant.end > grant.first).toEqual(true);
    if (at > 0) bench.follows(inOrder[at - 1]!, grant);
  }
  bench.expect(new Set(grants.map(({ grant }) => grant)).size).toEqual(RACE_COUNT);
  return grants;
}
