/**
 * What a store must do when acknowledged writes may be gone: another server, an absent counter, a
 * client that knows more than the store.
 */
import type { TakeGrant } from '../counters/counter-store.js';
import { DENSE, type CounterBench, type CounterCase } from './counter-bench.js';

/** What one window grants at most. */
const WINDOW = DENSE.skip / 2n;

export const COUNTER_LOSS_CASES: readonly CounterCase[] = [
  {
    name: 'jumps over what may be lost when another server answers, and waits before it grants',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.begun();
      await bench.happen('restart');
      await expectWait(bench, DENSE.skip);
      const after = await bench.granted(() => bench.dense());
      bench.expect(after.first).toEqual(before.end + DENSE.skip);
      bench.expect(after.era).toEqual(before.era + 1);
    },
  },
  {
    name: 'jumps once, whoever asks first',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.begun();
      await bench.happen('restart');
      const after = await bench.granted(() => bench.dense());
      const next = await bench.granted(() => bench.dense({ have: before.end }));
      bench.expect(next.first).toEqual(after.end);
    },
  },
  {
    name: 'jumps with the largest skip that it was ever asked with',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.begun({ skip: 50_000n });
      await bench.happen('restart');
      const after = await bench.granted(() => bench.dense({ skip: 2n }));
      bench.expect(after.first).toEqual(before.end + 50_000n);
    },
  },
  {
    name: 'grants no more than half of the skip within one loss window',
    needs: ['clock'],
    async run(bench) {
      if ((await bench.store()).lossWindowMs === 0) return;
      await bench.begun({ count: 1n });
      const count = await grantedNow(bench);
      bench.expect(count).toEqual(WINDOW - 1n);
      const answer = await bench.dense();
      bench.expect(answer.status).toEqual('wait');
      const next = await bench.granted(() => bench.dense({ count: 10n * DENSE.skip }));
      bench.expect(next.end - next.first).toEqual(WINDOW);
    },
  },
  {
    name: 'grants nothing by a larger skip before it can no longer be lost',
    needs: ['clock'],
    async run(bench) {
      const { end } = await bench.begun();
      await expectWait(bench, 100n * DENSE.skip);
      const next = await bench.granted(() => bench.dense());
      bench.expect(next.first).toEqual(end);
    },
  },
  {
    name: 'takes an end that it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(bench) {
      const { end, era } = await bench.begun();
      const have = end + 1n;
      await expectWait(bench, DENSE.skip, have);
      const after = await bench.granted(() => bench.dense({ have }));
      bench.expect(after.first).toEqual(have + DENSE.skip);
      bench.expect(after.era).toEqual(era + 1);
    },
  },
  {
    name: 'jumps beyond the jump of a server that took over meanwhile, once somebody knows of it',
    needs: ['clock'],
    async run(bench) {
      const before = await bench.begun();
      const era = before.era + 1;
      const after = await bench.granted(() => bench.dense({ era }));
      bench.expect(after.first).toEqual(before.end + 2n * DENSE.skip);
      bench.expect(after.era > era).toEqual(true);
      const next = await bench.granted(() => bench.dense({ era }));
      bench.expect(next.first).toEqual(after.end);
    },
  },
  {
    name: 'repeats nothing after an older copy was restored',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.begun();
      await bench.happen('remember');
      const lost = await bench.granted(() => bench.dense({ count: WINDOW - 10n }));
      bench.follows(before, lost);
      await bench.happen('restore');
      bench.follows(lost, await bench.granted(() => bench.dense()));
    },
  },
  {
    name: 'repeats nothing when two losses come within one window',
    needs: ['clock', 'losses'],
    async run(bench) {
      // Where nothing is lost, a jump is not lost either.
      if ((await bench.store()).lossWindowMs === 0) return;
      await bench.begun();
      await bench.happen('remember');
      const lost = await bench.granted(() => bench.dense({ count: WINDOW - 10n }));
      await bench.happen('restore');
      // Whatever is granted between the two must be clear of what comes after the second.
      const between = await bench.dense({ count: DENSE.skip });
      await bench.happen('restore');
      const after = await bench.granted(() => bench.dense());
      bench.follows(lost, after);
      if (between.status === 'ok') apart(bench, between, after);
    },
  },
  {
    name: 'refuses after everything was flushed, and then starts after what somebody has',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { end } = await bench.begun({ count: 100n });
      await bench.happen('wipe');
      bench.expect(await bench.dense()).toEqual({ status: 'absent' });
      bench.expect(await bench.dense({ have: end })).toEqual({ status: 'absent' });
      const after = await bench.granted(() => bench.dense({ have: end, startAt: 1n }));
      bench.expect(after.first).toEqual(end + DENSE.skip);
    },
  },
  {
    name: 'grants nothing of a new counter before it can no longer be lost',
    needs: ['clock', 'create'],
    async run(bench) {
      const store = await bench.store();
      if (store.lossWindowMs === 0) return;
      bench.expect((await bench.dense({ startAt: 1n })).status).toEqual('wait');
      await store.create!({ counter: 'created', start: 1n });
      bench.expect((await bench.dense({ counter: 'created' })).status).toEqual('wait');
    },
  },
  {
    name: 'makes each counter jump at its own next take',
    needs: ['clock', 'losses'],
    async run(bench) {
      const order = await bench.begun();
      const other = await bench.begun({ counter: 'other' });
      await bench.happen('restart');
      const after = await bench.granted(() => bench.dense());
      bench.expect(after.first).toEqual(order.end + DENSE.skip);
      const later = await bench.granted(() => bench.dense({ counter: 'other' }));
      bench.expect(later.first).toEqual(other.end + DENSE.skip);
    },
  },
  {
    name: 'counts its windows by a clock that never goes back',
    needs: ['clock'],
    async run(bench) {
      const { lossWindowMs } = await bench.store();
      if (lossWindowMs === 0) return;
      await bench.begun({ count: 1n });
      await grantedNow(bench);
      await bench.advance(-3_600_000);
      bench.expect((await bench.dense()).status).toEqual('wait');
      const next = await bench.granted(() => bench.dense());
      bench.expect(next.end > next.first).toEqual(true);
    },
  },
];

/** What is granted until the store says to wait. */
async function grantedNow(bench: CounterBench): Promise<bigint> {
  let sum = 0n;
  while (sum <= DENSE.skip) {
    const answer = await bench.dense({ count: 70n });
    if (answer.status !== 'ok') break;
    sum += answer.end - answer.first;
  }
  return sum;
}

/** The wait of one loss window; none where the store loses nothing. */
async function expectWait(bench: CounterBench, skip: bigint, have = 0n): Promise<void> {
  const { lossWindowMs: waitMs } = await bench.store();
  if (waitMs === 0) return;
  bench.expect(await bench.dense({ skip, have })).toEqual({ status: 'wait', waitMs });
  await bench.advance(waitMs - 1);
  bench.expect(await bench.dense({ skip })).toEqual({ status: 'wait', waitMs: 1 });
}

function apart(bench: CounterBench, one: TakeGrant, other: TakeGrant): void {
  bench.expect(one.end <= other.first || other.end <= one.first).toEqual(true);
}

/*
 * What a store must do when many processes ask at once.
 * Each case is one property, in words.
 */

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
