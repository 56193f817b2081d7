/**
 * The duties of a store when acknowledged writes may be lost: another server, an absent counter, or
 * a client with later facts than the store.
 */
import type { TakeGrant } from '../counters/counter-store.js';
import { DENSE, type CounterHarness, counterCases } from './counter-harness.js';

/** The maximum that one window grants. */
const WINDOW = DENSE.lossGap / 2n;

export const COUNTER_LOSS_CASES = [
  ...counterCases(['clock', 'losses'], {
    async 'jumps over what may be lost when another server answers, and waits before it grants'(t) {
      const before = await t.begun();
      await t.happen('restart');
      await expectWait(t, DENSE.lossGap);
      const after = await t.take();
      t.expect(after.first).toEqual(before.end + DENSE.lossGap);
      t.expect(after.era).toEqual(before.era + 1);
    },
    async 'jumps once, whoever asks first'(t) {
      const before = await t.begun();
      await t.happen('restart');
      const after = await t.take();
      const next = await t.take({ have: before.end });
      t.expect(next.first).toEqual(after.end);
    },
    async 'jumps with the largest loss gap that it was ever asked with'(t) {
      const before = await t.begun({ lossGap: 50_000n });
      await t.happen('restart');
      const after = await t.take({ lossGap: 2n });
      t.expect(after.first).toEqual(before.end + 50_000n);
    },
    async 'repeats nothing after an older copy was restored'(t) {
      const before = await t.begun();
      await t.happen('remember');
      const lost = await t.take({ count: WINDOW - 10n });
      t.follows(before, lost);
      await t.happen('restore');
      t.follows(lost, await t.take());
    },
    async 'repeats nothing when two losses come within one window'(t) {
      // A store that loses nothing cannot lose a jump.
      if ((await t.store()).lossWindowMs === 0) return;
      await t.begun();
      await t.happen('remember');
      const lost = await t.take({ count: WINDOW - 10n });
      await t.happen('restore');
      // No grant between the two losses may overlap a grant after the second.
      const between = await t.dense({ count: DENSE.lossGap });
      await t.happen('restore');
      const after = await t.take();
      t.follows(lost, after);
      if (between.status !== 'ok') return;
      t.expect(between.end <= after.first || after.end <= between.first).toEqual(true);
    },
    async 'refuses after everything was flushed, and then starts after what somebody has'(t) {
      const { end } = await t.begun({ count: 100n });
      await t.happen('wipe');
      t.expect(await t.dense()).toEqual({ status: 'absent' });
      t.expect(await t.dense({ have: end })).toEqual({ status: 'absent' });
      const after = await t.take({ have: end, startAt: 1n });
      t.expect(after.first).toEqual(end + DENSE.lossGap);
    },
    async 'makes each counter jump at its own next take'(t) {
      const order = await t.begun();
      const other = await t.begun({ counter: 'other' });
      await t.happen('restart');
      const after = await t.take();
      t.expect(after.first).toEqual(order.end + DENSE.lossGap);
      const later = await t.take({ counter: 'other' });
      t.expect(later.first).toEqual(other.end + DENSE.lossGap);
    },
  }),
  ...counterCases(['clock'], {
    async 'grants no more than half of the loss gap within one loss window'(t) {
      if ((await t.store()).lossWindowMs === 0) return;
      await t.begun({ count: 1n });
      const count = await grantedNow(t);
      t.expect(count).toEqual(WINDOW - 1n);
      const answer = await t.dense();
      t.expect(answer.status).toEqual('wait');
      const next = await t.take({ count: 10n * DENSE.lossGap });
      t.expect(next.end - next.first).toEqual(WINDOW);
    },
    async 'grants nothing by a larger loss gap before it can no longer be lost'(t) {
      const { end } = await t.begun();
      await expectWait(t, 100n * DENSE.lossGap);
      const next = await t.take();
      t.expect(next.first).toEqual(end);
    },
    async 'takes an end that it does not remember for a proof that writes were lost'(t) {
      const { end, era } = await t.begun();
      const have = end + 1n;
      await expectWait(t, DENSE.lossGap, have);
      const after = await t.take({ have });
      t.expect(after.first).toEqual(have + DENSE.lossGap);
      t.expect(after.era).toEqual(era + 1);
    },
    async 'jumps beyond the jump of a server that took over in the meantime, once somebody knows of it'(
      t,
    ) {
      const before = await t.begun();
      const era = before.era + 1;
      const after = await t.take({ era });
      t.expect(after.first).toEqual(before.end + 2n * DENSE.lossGap);
      t.expect(after.era > era).toEqual(true);
      const next = await t.take({ era });
      t.expect(next.first).toEqual(after.end);
    },
    async 'counts its windows by a clock that never goes back'(t) {
      const { lossWindowMs } = await t.store();
      if (lossWindowMs === 0) return;
      await t.begun({ count: 1n });
      await grantedNow(t);
      await t.advance(-3_600_000);
      t.expect((await t.dense()).status).toEqual('wait');
      const next = await t.take();
      t.expect(next.end > next.first).toEqual(true);
    },
  }),
  ...counterCases(['clock', 'create'], {
    async 'grants nothing of a new counter before it can no longer be lost'(t) {
      const store = await t.store();
      if (store.lossWindowMs === 0) return;
      t.expect((await t.dense({ startAt: 1n })).status).toEqual('wait');
      await store.create!({ counter: 'created', start: 1n });
      t.expect((await t.dense({ counter: 'created' })).status).toEqual('wait');
    },
  }),
];

/** Takes until the answer is a wait. */
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

/* The duties of a store when many processes call concurrently. */

const RACE_COUNT = 50;

export const COUNTER_RACE_CASES = counterCases([], {
  async [`keeps apart ${RACE_COUNT} who take at once`](t) {
    await t.begun();
    await race(t, (at) => ({ count: BigInt(1 + (at % 3)) }));
  },
  async [`keeps apart ${RACE_COUNT} who create the counter at once`](t) {
    const grants = await race(t, () => ({ startAt: 1n, count: 2n }));
    const firsts = grants.map(({ first }) => first);
    t.expect(firsts.some((first) => first === 1n)).toEqual(true);
  },
});

async function race(
  harness: CounterHarness,
  asked: (at: number) => { startAt?: bigint; count: bigint },
): Promise<TakeGrant[]> {
  const stores = [await harness.store(), await harness.another(), await harness.another()];
  const grants = await Promise.all(
    Array.from({ length: RACE_COUNT }, (_, at) =>
      harness.patiently(() => stores[at % stores.length]!.take({ ...DENSE, ...asked(at) })),
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
