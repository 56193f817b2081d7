/**
 * The duties of a store when acknowledged writes may be gone: another server, an absent counter, a
 * client that knows more than the store.
 */
import type { TakeGrant } from '../counters/counter-store.js';
import { DENSE, type CounterHarness, type CounterCase } from './counter-harness.js';

/** One window grants at most this. */
const WINDOW = DENSE.lossGap / 2n;

export const COUNTER_LOSS_CASES: readonly CounterCase[] = [
  {
    name: 'jumps over what may be lost when another server answers, and waits before it grants',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.begun();
      await harness.happen('restart');
      await expectWait(harness, DENSE.lossGap);
      const after = await harness.grantOf(() => harness.dense());
      harness.expect(after.first).toEqual(before.end + DENSE.lossGap);
      harness.expect(after.era).toEqual(before.era + 1);
    },
  },
  {
    name: 'jumps once, whoever asks first',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.begun();
      await harness.happen('restart');
      const after = await harness.grantOf(() => harness.dense());
      const next = await harness.grantOf(() => harness.dense({ have: before.end }));
      harness.expect(next.first).toEqual(after.end);
    },
  },
  {
    name: 'jumps with the largest loss gap that it was ever asked with',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.begun({ lossGap: 50_000n });
      await harness.happen('restart');
      const after = await harness.grantOf(() => harness.dense({ lossGap: 2n }));
      harness.expect(after.first).toEqual(before.end + 50_000n);
    },
  },
  {
    name: 'grants no more than half of the loss gap within one loss window',
    needs: ['clock'],
    async run(harness) {
      if ((await harness.store()).lossWindowMs === 0) return;
      await harness.begun({ count: 1n });
      const count = await grantedNow(harness);
      harness.expect(count).toEqual(WINDOW - 1n);
      const answer = await harness.dense();
      harness.expect(answer.status).toEqual('wait');
      const next = await harness.grantOf(() => harness.dense({ count: 10n * DENSE.lossGap }));
      harness.expect(next.end - next.first).toEqual(WINDOW);
    },
  },
  {
    name: 'grants nothing by a larger loss gap before it can no longer be lost',
    needs: ['clock'],
    async run(harness) {
      const { end } = await harness.begun();
      await expectWait(harness, 100n * DENSE.lossGap);
      const next = await harness.grantOf(() => harness.dense());
      harness.expect(next.first).toEqual(end);
    },
  },
  {
    name: 'takes an end that it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(harness) {
      const { end, era } = await harness.begun();
      const have = end + 1n;
      await expectWait(harness, DENSE.lossGap, have);
      const after = await harness.grantOf(() => harness.dense({ have }));
      harness.expect(after.first).toEqual(have + DENSE.lossGap);
      harness.expect(after.era).toEqual(era + 1);
    },
  },
  {
    name: 'jumps beyond the jump of a server that took over meanwhile, once somebody knows of it',
    needs: ['clock'],
    async run(harness) {
      const before = await harness.begun();
      const era = before.era + 1;
      const after = await harness.grantOf(() => harness.dense({ era }));
      harness.expect(after.first).toEqual(before.end + 2n * DENSE.lossGap);
      harness.expect(after.era > era).toEqual(true);
      const next = await harness.grantOf(() => harness.dense({ era }));
      harness.expect(next.first).toEqual(after.end);
    },
  },
  {
    name: 'repeats nothing after an older copy was restored',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.begun();
      await harness.happen('remember');
      const lost = await harness.grantOf(() => harness.dense({ count: WINDOW - 10n }));
      harness.follows(before, lost);
      await harness.happen('restore');
      harness.follows(lost, await harness.grantOf(() => harness.dense()));
    },
  },
  {
    name: 'repeats nothing when two losses come within one window',
    needs: ['clock', 'losses'],
    async run(harness) {
      // A store that loses nothing cannot lose a jump.
      if ((await harness.store()).lossWindowMs === 0) return;
      await harness.begun();
      await harness.happen('remember');
      const lost = await harness.grantOf(() => harness.dense({ count: WINDOW - 10n }));
      await harness.happen('restore');
      // Every grant between the two must be clear of the grants after the second.
      const between = await harness.dense({ count: DENSE.lossGap });
      await harness.happen('restore');
      const after = await harness.grantOf(() => harness.dense());
      harness.follows(lost, after);
      if (between.status === 'ok') apart(harness, between, after);
    },
  },
  {
    name: 'refuses after everything was flushed, and then starts after what somebody has',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { end } = await harness.begun({ count: 100n });
      await harness.happen('wipe');
      harness.expect(await harness.dense()).toEqual({ status: 'absent' });
      harness.expect(await harness.dense({ have: end })).toEqual({ status: 'absent' });
      const after = await harness.grantOf(() => harness.dense({ have: end, startAt: 1n }));
      harness.expect(after.first).toEqual(end + DENSE.lossGap);
    },
  },
  {
    name: 'grants nothing of a new counter before it can no longer be lost',
    needs: ['clock', 'create'],
    async run(harness) {
      const store = await harness.store();
      if (store.lossWindowMs === 0) return;
      harness.expect((await harness.dense({ startAt: 1n })).status).toEqual('wait');
      await store.create!({ counter: 'created', start: 1n });
      harness.expect((await harness.dense({ counter: 'created' })).status).toEqual('wait');
    },
  },
  {
    name: 'makes each counter jump at its own next take',
    needs: ['clock', 'losses'],
    async run(harness) {
      const order = await harness.begun();
      const other = await harness.begun({ counter: 'other' });
      await harness.happen('restart');
      const after = await harness.grantOf(() => harness.dense());
      harness.expect(after.first).toEqual(order.end + DENSE.lossGap);
      const later = await harness.grantOf(() => harness.dense({ counter: 'other' }));
      harness.expect(later.first).toEqual(other.end + DENSE.lossGap);
    },
  },
  {
    name: 'counts its windows by a clock that never goes back',
    needs: ['clock'],
    async run(harness) {
      const { lossWindowMs } = await harness.store();
      if (lossWindowMs === 0) return;
      await harness.begun({ count: 1n });
      await grantedNow(harness);
      await harness.advance(-3_600_000);
      harness.expect((await harness.dense()).status).toEqual('wait');
      const next = await harness.grantOf(() => harness.dense());
      harness.expect(next.end > next.first).toEqual(true);
    },
  },
];

/** Takes until the store says to wait. */
async function grantedNow(harness: CounterHarness): Promise<bigint> {
  let sum = 0n;
  while (sum <= DENSE.lossGap) {
    const answer = await harness.dense({ count: 70n });
    if (answer.status !== 'ok') break;
    sum += answer.end - answer.first;
  }
  return sum;
}

/** Waits for one loss window, unless the store loses nothing. */
async function expectWait(harness: CounterHarness, lossGap: bigint, have = 0n): Promise<void> {
  const { lossWindowMs: waitMs } = await harness.store();
  if (waitMs === 0) return;
  harness.waits(await harness.dense({ lossGap, have }), waitMs);
  await harness.advance(waitMs - 1);
  harness.waits(await harness.dense({ lossGap }), 1);
}

function apart(harness: CounterHarness, one: TakeGrant, other: TakeGrant): void {
  harness.expect(one.end <= other.first || other.end <= one.first).toEqual(true);
}

/* The duties of a store when many processes ask at once. */

const RACE_COUNT = 50;

export const COUNTER_RACE_CASES: readonly CounterCase[] = [
  {
    name: `keeps apart ${RACE_COUNT} who take at once`,
    needs: [],
    async run(harness) {
      await harness.begun();
      await race(harness, (at) => ({ count: BigInt(1 + (at % 3)) }));
    },
  },
  {
    name: `keeps apart ${RACE_COUNT} who create the counter at once`,
    needs: [],
    async run(harness) {
      const grants = await race(harness, () => ({ startAt: 1n, count: 2n }));
      const firsts = grants.map(({ first }) => first);
      harness.expect(firsts.some((first) => first === 1n)).toEqual(true);
    },
  },
];

async function race(
  harness: CounterHarness,
  asked: (at: number) => { startAt?: bigint; count: bigint },
): Promise<TakeGrant[]> {
  const stores = [await harness.store(), await harness.another(), await harness.another()];
  const grants = await Promise.all(
    Array.from({ length: RACE_COUNT }, (_, at) =>
      harness.grantOf(() => stores[at % stores.length]!.take({ ...DENSE, ...asked(at) })),
    ),
  );
  const inOrder = grants.toSorted((a, b) => (a.first < b.first ? -1 : 1));
  for (const [at, grant] of inOrder.entries()) {
    harness.expect(grant.end > grant.first).toEqual(true);
    if (at > 0) harness.follows(inOrder[at - 1]!, grant);
  }
  harness.expect(new Set(grants.map(({ grant }) => grant)).size).toEqual(RACE_COUNT);
  return grants;
}
