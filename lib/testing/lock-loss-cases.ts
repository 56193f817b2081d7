/**
 * What a store must do when acknowledged writes may be gone: another server, nothing there, a
 * client that knows more than the store.
 */
import { ASKED, type LockBench, type LockCase } from './lock-bench.js';

export const LOCK_LOSS_CASES: readonly LockCase[] = [
  {
    name: 'grants nothing after everything was lost, until what was forgotten has ended',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.held();
      await bench.happen('wipe');
      await bench.expectStatus(bench.extend(before), 'lost');
      await expectWait(bench);
      bench.rises(before, await bench.held());
    },
  },
  {
    name: 'grants nothing when another server answers, until what was forgotten has ended',
    needs: ['clock', 'losses'],
    async run(bench) {
      const before = await bench.held();
      await bench.happen('restart');
      await expectWait(bench);
      const after = await bench.held();
      bench.rises(before, after);
      bench.expect(after.era).toEqual(before.era + 1);
    },
  },
  {
    name: 'tells a holder that its lock is lost when another server answers',
    needs: ['clock', 'losses'],
    async run(bench) {
      const held = await bench.held();
      await bench.happen('restart');
      await bench.expectStatus(bench.extend(held), 'lost');
      await bench.expectStatus(bench.acquire({ holder: held.holder }), 'wait');
    },
  },
  {
    name: 'waits for the longest time that anybody may hold a lock, not for that of who asks',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.begin();
      await bench.held({ lock: 'other', longestMs: 60_000 });
      await bench.held({ lock: 'third' });
      await bench.happen('restart');
      await bench.expectStatus(bench.acquire(), 'wait');
      await bench.advance(59_999);
      await bench.expectStatus(bench.acquire(), 'wait');
    },
  },
  {
    name: 'waits longer where it learns later that a lock may have been held for longer',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.held();
      await bench.happen('wipe');
      await bench.expectStatus(bench.acquire(), 'wait');
      await bench.expectStatus(bench.acquire({ longestMs: 60_000 }), 'wait');
      await bench.advance(59_999);
      await bench.expectStatus(bench.acquire(), 'wait');
    },
  },
  {
    name: 'grants nothing for a longer time than before until the record of it cannot be lost',
    needs: ['clock'],
    async run(bench) {
      const { lossWindowMs } = await bench.store();
      if (lossWindowMs === 0) return;
      await bench.begin();
      const longer = { ttlMs: ASKED.longestMs + 1, longestMs: ASKED.longestMs + 1 };
      const answer = await bench.acquire(longer);
      bench.expect(answer).toEqual({ status: 'wait', waitMs: lossWindowMs });
      await bench.expectStatus(bench.acquire({ lock: 'other' }), 'ok');
      await bench.advance(lossWindowMs);
      await bench.expectStatus(bench.acquire(longer), 'ok');
    },
  },
  {
    name: 'grants no lock twice after an older copy was restored',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.begin();
      await bench.happen('remember');
      const forgotten = await bench.held();
      await bench.happen('restore');
      await bench.expectStatus(bench.extend(forgotten), 'lost');
      await expectWait(bench);
      bench.rises(forgotten, await bench.held());
    },
  },
  {
    name: 'takes a token that it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(bench) {
      const held = await bench.held();
      await bench.release(held);
      const have = held.token + 1n;
      await bench.expectStatus(bench.acquire({ lock: 'other' }), 'ok');
      const answer = await bench.acquire({ have });
      bench.expect(answer.status).toEqual('wait');
      await bench.expectStatus(bench.acquire({ lock: 'third' }), 'wait');
      const after = await bench.held({ have });
      bench.expect([after.token > have, after.era]).toEqual([true, held.era + 1]);
    },
  },
  {
    name: 'takes a young token of a lock that it does not know for such a proof',
    needs: ['clock'],
    async run(bench) {
      const held = await bench.held();
      const answer = await bench.acquire({ lock: 'unknown', have: held.token });
      bench.expect(answer.status).toEqual('wait');
    },
  },
  {
    name: 'learns from survivors how far ahead of its clock a store was that was lost',
    needs: ['clock', 'losses'],
    async run(bench) {
      const survivor = await bench.held();
      await bench.advance(600_000);
      const last = await bench.held();
      await bench.advance(-3_600_000);
      await bench.happen('wipe');
      await bench.expectStatus(bench.acquire({ lock: 'other' }), 'wait');
      const highest = { token: survivor.token, ageMs: 600_001 };
      await bench.expectStatus(bench.acquire({ lock: 'third', highest }), 'wait');
      const after = await bench.held();
      bench.rises(last, after);
      bench.expect((await bench.held({ lock: 'third', highest })).era).toEqual(after.era);
    },
  },
  {
    name: 'begins no lower than the first who asks knows, nor lets a holder keep what began lower',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { token } = await bench.held();
      const highest = { token, ageMs: 0 };
      await bench.advance(-3_600_000);
      await bench.happen('wipe');
      const first = await bench.held({ lock: 'other', highest });
      bench.rises({ token }, first);
      await bench.advance(-3_600_000);
      await bench.happen('wipe');
      const low = await bench.held();
      bench.expect(low.era).toEqual(first.era);
      await bench.expectStatus(bench.extend({ ...low, highest }), 'lost');
      await bench.expectStatus(bench.acquire(), 'wait');
      bench.rises({ token }, await bench.held());
    },
  },
  {
    name: 'takes a step of some seconds back for no loss',
    needs: ['clock'],
    async run(bench) {
      await bench.held();
      await bench.advance(5500);
      const { token, era } = await bench.held();
      await bench.advance(-5000);
      const next = await bench.held({ lock: 'other', highest: { token, ageMs: 0 } });
      bench.expect(next.era).toEqual(era);
    },
  },
  {
    name: 'keeps a released lock from others for as long as was asked, also after a restart',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.release(await bench.held(), 600_000);
      await bench.happen('restart');
      await bench.release(await bench.held({ lock: 'other' }));
      await bench.expectStatus(bench.acquire(), 'held');
    },
  },
  {
    name: 'notices one loss once',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { era } = await bench.held();
      await bench.happen('restart');
      bench.expect((await bench.held()).era).toEqual(era + 1);
      bench.expect((await bench.held({ lock: 'other' })).era).toEqual(era + 1);
    },
  },
];

/** Nothing is granted for the longest time and the loss window, and then it is. */
async function expectWait(bench: LockBench): Promise<void> {
  const waitMs = ASKED.longestMs + (await bench.store()).lossWindowMs;
  bench.expect(await bench.acquire()).toEqual({ status: 'wait', waitMs });
  await bench.advance(waitMs - 1);
  bench.expect(await bench.acquire({ lock: 'other' })).toEqual({ status: 'wait', waitMs: 1 });
  await bench.advance(1);
}

/*
 * What a store must do as time goes by, and goes back.
 * Each case is one property, in words.
 */

/** Long enough for any store to have forgotten it. */
const LONG_MS = 600_000;

export const LOCK_CLOCK_CASES: readonly LockCase[] = [
  {
    name: 'frees a lock when its time is over, to the millisecond, with a higher token',
    needs: ['clock'],
    async run(bench) {
      const first = await bench.held();
      await bench.advance(ASKED.ttlMs - 1);
      await bench.expectStatus(bench.acquire(), 'held');
      await bench.advance(1);
      const second = await bench.held();
      bench.rises(first, second);
      await bench.expectStatus(bench.extend(first), 'lost');
      await bench.release(first);
      await bench.expectStatus(bench.extend(second), 'ok');
    },
  },
  {
    name: 'holds nothing again whose time is over',
    needs: ['clock'],
    async run(bench) {
      const held = await bench.held();
      await bench.advance(ASKED.ttlMs);
      await bench.expectStatus(bench.extend(held), 'lost');
      const { holder } = held;
      bench.rises(held, await bench.held({ holder }));
    },
  },
  {
    name: 'extends from now on, and never shortens',
    needs: ['clock'],
    async run(bench) {
      const held = await bench.held();
      await bench.advance(ASKED.ttlMs - 1);
      await bench.expectStatus(bench.extend(held), 'ok');
      await bench.expectStatus(bench.extend(held, 1), 'ok');
      await bench.advance(ASKED.ttlMs - 1);
      await bench.expectStatus(bench.acquire(), 'held');
      await bench.advance(1);
      await bench.expectStatus(bench.acquire(), 'ok');
    },
  },
  {
    name: 'gives an attempt that asks again the whole time from then on',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.held();
      await bench.advance(ASKED.ttlMs - 1);
      await bench.expectStatus(bench.acquire({ holder }), 'ok');
      await bench.advance(ASKED.ttlMs - 1);
      await bench.expectStatus(bench.acquire(), 'held');
    },
  },
  {
    name: 'keeps a released lock from others for as long as was asked',
    needs: ['clock', 'locks'],
    async run(bench) {
      const held = await bench.held();
      await bench.release(held, LONG_MS);
      await bench.expectStatus(bench.extend(held), 'lost');
      await bench.advance(LONG_MS - 1);
      await bench.expectStatus(bench.acquire(), 'held');
      bench
        .expect((await (await bench.store()).locks!()).map(({ isKept }) => isKept))
        .toEqual([true]);
      await bench.advance(1);
      bench.rises(held, await bench.held());
    },
  },
  {
    name: 'rises although it may have forgotten the last token, and notices no loss',
    needs: ['clock'],
    async run(bench) {
      const first = await bench.held();
      for (let count = 0; count < 4; count++) {
        await bench.advance(LONG_MS);
        await bench.release(await bench.held({ lock: 'other' }));
      }
      const { token: have, era } = first;
      const second = await bench.held({ have });
      bench.rises(first, second);
      bench.expect(second.era).toEqual(era);
    },
  },
  {
    name: 'frees nothing and repeats no token although its clock goes back, again and again',
    needs: ['clock'],
    async run(bench) {
      let last = await bench.held();
      for (const stepMs of [-3_600_000, 500, -10, -60_000, 1]) {
        await bench.advance(stepMs);
        const answer = await bench.acquire();
        bench.expect(answer.status).toEqual('held');
        // A store may take up a step of some seconds late.
        bench.expect('leftMs' in answer && answer.leftMs < 60_000).toEqual(true);
        await bench.release(last);
        const next = await bench.held();
        bench.rises(last, next);
        last = next;
      }
    },
  },
];
