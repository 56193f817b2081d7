/**
 * The duties of a store when acknowledged writes may be gone: another server, an empty store, a
 * client that knows more than the store.
 */
import { ASKED, type LockHarness, type LockCase } from './lock-harness.js';

export const LOCK_LOSS_CASES: readonly LockCase[] = [
  {
    name: 'grants nothing after everything was lost, until what was forgotten has ended',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.held();
      await harness.happen('wipe');
      await harness.expectStatus(harness.extend(before), 'lost');
      await expectWait(harness);
      harness.rises(before, await harness.held());
    },
  },
  {
    name: 'grants nothing when another server answers, until what was forgotten has ended',
    needs: ['clock', 'losses'],
    async run(harness) {
      const before = await harness.held();
      await harness.happen('restart');
      await expectWait(harness);
      const after = await harness.held();
      harness.rises(before, after);
      harness.expect(after.era).toEqual(before.era + 1);
    },
  },
  {
    name: 'tells a holder that its lock is lost when another server answers',
    needs: ['clock', 'losses'],
    async run(harness) {
      const held = await harness.held();
      await harness.happen('restart');
      await harness.expectStatus(harness.extend(held), 'lost');
      await harness.expectStatus(harness.acquire({ holder: held.holder }), 'wait');
    },
  },
  {
    name: 'waits for the longest time that anybody may hold a lock, not for that of who asks',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.begin();
      await harness.held({ lock: 'other', longestMs: 60_000 });
      await harness.held({ lock: 'third' });
      await harness.happen('restart');
      await harness.expectStatus(harness.acquire(), 'wait');
      await harness.advance(59_999);
      await harness.expectStatus(harness.acquire(), 'wait');
    },
  },
  {
    name: 'waits longer where it learns later that a lock may have been held for longer',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.held();
      await harness.happen('wipe');
      await harness.expectStatus(harness.acquire(), 'wait');
      await harness.expectStatus(harness.acquire({ longestMs: 60_000 }), 'wait');
      await harness.advance(59_999);
      await harness.expectStatus(harness.acquire(), 'wait');
    },
  },
  {
    name: 'grants nothing for a longer time than before until the record of it cannot be lost',
    needs: ['clock'],
    async run(harness) {
      const { lossWindowMs } = await harness.store();
      if (lossWindowMs === 0) return;
      await harness.begin();
      const longer = { ttlMs: ASKED.longestMs + 1, longestMs: ASKED.longestMs + 1 };
      const answer = await harness.acquire(longer);
      harness.expect(answer).toEqual({ status: 'wait', waitMs: lossWindowMs });
      await harness.expectStatus(harness.acquire({ lock: 'other' }), 'ok');
      await harness.advance(lossWindowMs);
      await harness.expectStatus(harness.acquire(longer), 'ok');
    },
  },
  {
    name: 'grants no lock twice after an older copy was restored',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.begin();
      await harness.happen('remember');
      const forgotten = await harness.held();
      await harness.happen('restore');
      await harness.expectStatus(harness.extend(forgotten), 'lost');
      await expectWait(harness);
      harness.rises(forgotten, await harness.held());
    },
  },
  {
    name: 'takes a token that it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(harness) {
      const held = await harness.held();
      await harness.release(held);
      const have = held.token + 1n;
      await harness.expectStatus(harness.acquire({ lock: 'other' }), 'ok');
      const answer = await harness.acquire({ have });
      harness.expect(answer.status).toEqual('wait');
      await harness.expectStatus(harness.acquire({ lock: 'third' }), 'wait');
      const after = await harness.held({ have });
      harness.expect([after.token > have, after.era]).toEqual([true, held.era + 1]);
    },
  },
  {
    name: 'takes a young token of a lock that it does not know for such a proof',
    needs: ['clock'],
    async run(harness) {
      const held = await harness.held();
      const answer = await harness.acquire({ lock: 'unknown', have: held.token });
      harness.expect(answer.status).toEqual('wait');
    },
  },
  {
    name: 'learns from survivors how far ahead of its clock a store was that was lost',
    needs: ['clock', 'losses'],
    async run(harness) {
      const survivor = await harness.held();
      await harness.advance(600_000);
      const last = await harness.held();
      await harness.advance(-3_600_000);
      await harness.happen('wipe');
      await harness.expectStatus(harness.acquire({ lock: 'other' }), 'wait');
      const highest = { token: survivor.token, ageMs: 600_001 };
      await harness.expectStatus(harness.acquire({ lock: 'third', highest }), 'wait');
      const after = await harness.held();
      harness.rises(last, after);
      harness.expect((await harness.held({ lock: 'third', highest })).era).toEqual(after.era);
    },
  },
  {
    name: 'begins no lower than the first who asks knows, nor lets a holder keep what began lower',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { token } = await harness.held();
      const highest = { token, ageMs: 0 };
      await harness.advance(-3_600_000);
      await harness.happen('wipe');
      const first = await harness.held({ lock: 'other', highest });
      harness.rises({ token }, first);
      await harness.advance(-3_600_000);
      await harness.happen('wipe');
      const low = await harness.held();
      harness.expect(low.era).toEqual(first.era);
      await harness.expectStatus(harness.extend({ ...low, highest }), 'lost');
      await harness.expectStatus(harness.acquire(), 'wait');
      harness.rises({ token }, await harness.held());
    },
  },
  {
    name: 'takes a step of some seconds back for no loss',
    needs: ['clock'],
    async run(harness) {
      await harness.held();
      await harness.advance(5500);
      const { token, era } = await harness.held();
      await harness.advance(-5000);
      const next = await harness.held({ lock: 'other', highest: { token, ageMs: 0 } });
      harness.expect(next.era).toEqual(era);
    },
  },
  {
    name: 'keeps a released lock from others for as long as was asked, also after a restart',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.release(await harness.held(), 600_000);
      await harness.happen('restart');
      await harness.release(await harness.held({ lock: 'other' }));
      await harness.expectStatus(harness.acquire(), 'held');
    },
  },
  {
    name: 'notices one loss once',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { era } = await harness.held();
      await harness.happen('restart');
      harness.expect((await harness.held()).era).toEqual(era + 1);
      harness.expect((await harness.held({ lock: 'other' })).era).toEqual(era + 1);
    },
  },
];

/** The store grants nothing for the longest time and the loss window, and then it does. */
async function expectWait(harness: LockHarness): Promise<void> {
  const waitMs = ASKED.longestMs + (await harness.store()).lossWindowMs;
  harness.expect(await harness.acquire()).toEqual({ status: 'wait', waitMs });
  await harness.advance(waitMs - 1);
  harness.expect(await harness.acquire({ lock: 'other' })).toEqual({ status: 'wait', waitMs: 1 });
  await harness.advance(1);
}

/* The duties of a store as time goes by, and goes back. */

/** Any store has forgotten a lock by then. */
const LONG_MS = 600_000;

export const LOCK_CLOCK_CASES: readonly LockCase[] = [
  {
    name: 'frees a lock when its time is over, to the millisecond, with a higher token',
    needs: ['clock'],
    async run(harness) {
      const first = await harness.held();
      await harness.advance(ASKED.ttlMs - 1);
      await harness.expectStatus(harness.acquire(), 'held');
      await harness.advance(1);
      const second = await harness.held();
      harness.rises(first, second);
      await harness.expectStatus(harness.extend(first), 'lost');
      await harness.release(first);
      await harness.expectStatus(harness.extend(second), 'ok');
    },
  },
  {
    name: 'holds nothing again whose time is over',
    needs: ['clock'],
    async run(harness) {
      const held = await harness.held();
      await harness.advance(ASKED.ttlMs);
      await harness.expectStatus(harness.extend(held), 'lost');
      const { holder } = held;
      harness.rises(held, await harness.held({ holder }));
    },
  },
  {
    name: 'keeps a note for a year, whatever else is forgotten meanwhile',
    needs: ['clock'],
    async run(harness) {
      const noted = await harness.held();
      await harness.expectStatus(harness.extend({ ...noted, note: 'from last year' }), 'ok');
      await harness.release(noted);
      for (const days of [0.01, 100, 265]) {
        await harness.advance(days * 86_400_000);
        for (let at = 0; at < 20; at++) {
          const lock = `other:${days}:${at}`;
          await harness.release(await harness.held({ lock }));
        }
      }
      harness.expect((await harness.held()).note).toEqual('from last year');
    },
  },
  {
    name: 'extends from now on, and never shortens',
    needs: ['clock'],
    async run(harness) {
      const held = await harness.held();
      await harness.advance(ASKED.ttlMs - 1);
      await harness.expectStatus(harness.extend(held), 'ok');
      await harness.expectStatus(harness.extend(held, 1), 'ok');
      await harness.advance(ASKED.ttlMs - 1);
      await harness.expectStatus(harness.acquire(), 'held');
      await harness.advance(1);
      await harness.expectStatus(harness.acquire(), 'ok');
    },
  },
  {
    name: 'gives an attempt that asks again the whole time from then on',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.held();
      await harness.advance(ASKED.ttlMs - 1);
      await harness.expectStatus(harness.acquire({ holder }), 'ok');
      await harness.advance(ASKED.ttlMs - 1);
      await harness.expectStatus(harness.acquire(), 'held');
    },
  },
  {
    name: 'keeps a released lock from others for as long as was asked',
    needs: ['clock', 'locks'],
    async run(harness) {
      const held = await harness.held();
      await harness.release(held, LONG_MS);
      await harness.expectStatus(harness.extend(held), 'lost');
      await harness.advance(LONG_MS - 1);
      await harness.expectStatus(harness.acquire(), 'held');
      harness
        .expect((await (await harness.store()).locks!()).map(({ isKept }) => isKept))
        .toEqual([true]);
      await harness.advance(1);
      harness.rises(held, await harness.held());
    },
  },
  {
    name: 'rises although it may have forgotten the last token, and notices no loss',
    needs: ['clock'],
    async run(harness) {
      const first = await harness.held();
      for (let count = 0; count < 4; count++) {
        await harness.advance(LONG_MS);
        await harness.release(await harness.held({ lock: 'other' }));
      }
      const { token: have, era } = first;
      const second = await harness.held({ have });
      harness.rises(first, second);
      harness.expect(second.era).toEqual(era);
    },
  },
  {
    name: 'frees nothing and repeats no token although its clock goes back, again and again',
    needs: ['clock'],
    async run(harness) {
      let last = await harness.held();
      for (const stepMs of [-3_600_000, 500, -10, -60_000, 1]) {
        await harness.advance(stepMs);
        const answer = await harness.acquire();
        harness.expect(answer.status).toEqual('held');
        // A store may take up a step of some seconds late.
        harness.expect('leftMs' in answer && answer.leftMs < 60_000).toEqual(true);
        await harness.release(last);
        const next = await harness.held();
        harness.rises(last, next);
        last = next;
      }
    },
  },
];
