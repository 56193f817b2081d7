/**
 * The duties of a store when acknowledged writes may be lost: another server, an empty store, or a
 * client with later facts than the store.
 */
import type { AcquireAnswer } from '../lock/lock-store.js';
import { ASKED, type LockHarness, lockCases } from './lock-harness.js';

export const LOCK_LOSS_CASES = [
  ...lockCases(['clock', 'losses'], {
    async 'grants nothing after everything was lost, until what was forgotten has ended'(t) {
      const before = await t.held();
      await t.happen('wipe');
      await t.expectStatus(t.extend(before), 'lost');
      await expectWait(t);
      t.rises(before, await t.held());
    },
    async 'grants nothing when another server answers, until what was forgotten has ended'(t) {
      const before = await t.held();
      await t.happen('restart');
      await expectWait(t);
      const after = await t.held();
      t.rises(before, after);
      t.expect(after.era).toEqual(before.era + 1);
    },
    async 'tells a holder that its lock is lost when another server answers'(t) {
      const held = await t.held();
      await t.happen('restart');
      await t.expectStatus(t.extend(held), 'lost');
      await t.expectStatus(t.acquire({ holder: held.holder }), 'wait');
    },
    async 'waits for the longest time that anybody may hold a lock, not for that of who asks'(t) {
      await t.begin();
      await t.held({ lock: 'other', longestMs: 60_000 });
      await t.held({ lock: 'third' });
      await t.happen('restart');
      await t.expectStatus(t.acquire(), 'wait');
      await t.advance(59_999);
      await t.expectStatus(t.acquire(), 'wait');
    },
    async 'waits longer where it learns later that a lock may have been held for longer'(t) {
      await t.held();
      await t.happen('wipe');
      await t.expectStatus(t.acquire(), 'wait');
      await t.expectStatus(t.acquire({ longestMs: 60_000 }), 'wait');
      await t.advance(59_999);
      await t.expectStatus(t.acquire(), 'wait');
    },
    async 'grants no lock twice after an older copy was restored'(t) {
      await t.begin();
      await t.happen('remember');
      const forgotten = await t.held();
      await t.happen('restore');
      await t.expectStatus(t.extend(forgotten), 'lost');
      await expectWait(t);
      t.rises(forgotten, await t.held());
    },
    async 'learns from survivors how far ahead of its clock a store was that was lost'(t) {
      const survivor = await t.held();
      await t.advance(600_000);
      const last = await t.held();
      await t.advance(-3_600_000);
      await t.happen('wipe');
      await t.expectStatus(t.acquire({ lock: 'other' }), 'wait');
      const { token: highest, nowMs = 0 } = survivor;
      const clocks = { wallMs: 0, nowMs: nowMs + 600_001 };
      await t.expectStatus(t.acquire({ lock: 'third', highest, clocks }), 'wait');
      const after = await t.held();
      t.rises(last, after);
      t.expect((await t.held({ lock: 'third', highest, clocks })).era).toEqual(after.era);
    },
    async 'begins no lower than the first who asks knows, nor lets a holder keep what began lower'(
      t,
    ) {
      const { token: highest } = await t.held();
      await t.advance(-3_600_000);
      await t.happen('wipe');
      const first = await t.held({ lock: 'other', highest });
      t.rises({ token: highest }, first);
      await t.advance(-3_600_000);
      await t.happen('wipe');
      const low = await t.held();
      t.expect(low.era).toEqual(first.era);
      await t.expectStatus(t.extend({ ...low, highest }), 'lost');
      await t.expectStatus(t.acquire(), 'wait');
      t.rises({ token: highest }, await t.held());
    },
    async 'keeps a released lock from others for as long as was asked, also after a restart'(t) {
      await t.release(await t.held(), 600_000);
      await t.happen('restart');
      await t.release(await t.held({ lock: 'other' }));
      await t.expectStatus(t.acquire(), 'held');
    },
    async 'notices one loss once'(t) {
      const { era } = await t.held();
      await t.happen('restart');
      t.expect((await t.held()).era).toEqual(era + 1);
      t.expect((await t.held({ lock: 'other' })).era).toEqual(era + 1);
    },
  }),
  ...lockCases(['clock'], {
    async 'grants nothing for a longer time than before until the record of it cannot be lost'(t) {
      const { lossWindowMs } = await t.store();
      if (lossWindowMs === 0) return;
      await t.begin();
      const longer = { ttlMs: ASKED.longestMs + 1, longestMs: ASKED.longestMs + 1 };
      const answer = await t.acquire(longer);
      t.expect(waitMsIn(answer)).toEqual(lossWindowMs);
      await t.expectStatus(t.acquire({ lock: 'other' }), 'ok');
      await t.advance(lossWindowMs);
      await t.expectStatus(t.acquire(longer), 'ok');
    },
    async 'takes a token that it does not remember for a proof that writes were lost'(t) {
      const held = await t.held();
      await t.release(held);
      const have = held.token + 1n;
      await t.expectStatus(t.acquire({ lock: 'other' }), 'ok');
      const answer = await t.acquire({ have });
      t.expect(answer.status).toEqual('wait');
      await t.expectStatus(t.acquire({ lock: 'third' }), 'wait');
      const after = await t.held({ have });
      t.expect([after.token > have, after.era]).toEqual([true, held.era + 1]);
    },
    async 'takes a young token of a lock that it does not know for such a proof'(t) {
      const held = await t.held();
      const answer = await t.acquire({ lock: 'unknown', have: held.token });
      t.expect(answer.status).toEqual('wait');
    },
    async 'takes a step of some seconds back for no loss'(t) {
      await t.held();
      await t.advance(5500);
      const { token, era } = await t.held();
      await t.advance(-5000);
      const next = await t.held({ lock: 'other', highest: token });
      t.expect(next.era).toEqual(era);
    },
  }),
];

/** The store grants no lock for the longest TTL plus the loss window, and then grants again. */
async function expectWait(harness: LockHarness): Promise<void> {
  const waitMs = ASKED.longestMs + (await harness.store()).lossWindowMs;
  harness.expect(waitMsIn(await harness.acquire())).toEqual(waitMs);
  await harness.advance(waitMs - 1);
  harness.expect(waitMsIn(await harness.acquire({ lock: 'other' }))).toEqual(1);
  await harness.advance(1);
}

/* The duties of a store whose clock moves forward and back. */

function waitMsIn(answer: AcquireAnswer): number | undefined {
  return answer.status === 'wait' ? answer.waitMs : undefined;
}

const HOUR_MS = 3_600_000;

/** Long enough for any store to remove the record of a lock. */
const LONG_MS = 600_000;

export const LOCK_CLOCK_CASES = [
  ...lockCases(['clock'], {
    async 'frees a lock when its time is over, to the millisecond, with a higher token'(t) {
      const first = await t.held();
      await t.advance(ASKED.ttlMs - 1);
      await t.expectStatus(t.acquire(), 'held');
      await t.advance(1);
      const second = await t.held();
      t.rises(first, second);
      await t.expectStatus(t.extend(first), 'lost');
      await t.release(first);
      await t.expectStatus(t.extend(second), 'ok');
    },
    async 'holds nothing again whose time is over'(t) {
      const held = await t.held();
      await t.advance(ASKED.ttlMs);
      await t.expectStatus(t.extend(held), 'lost');
      const { holder } = held;
      t.rises(held, await t.held({ holder }));
    },
    async 'keeps a note for a year, whatever else is forgotten in the meantime'(t) {
      const noted = await t.held();
      await t.expectStatus(t.extend({ ...noted, note: 'from last year' }), 'ok');
      await t.release(noted);
      for (const days of [0.01, 100, 265]) {
        await t.advance(days * 86_400_000);
        for (let at = 0; at < 20; at++) {
          const lock = `other:${days}:${at}`;
          await t.release(await t.held({ lock }));
        }
      }
      t.expect((await t.held()).note).toEqual('from last year');
    },
    async 'extends from now on, and never shortens'(t) {
      const held = await t.held();
      await t.advance(ASKED.ttlMs - 1);
      await t.expectStatus(t.extend(held), 'ok');
      await t.expectStatus(t.extend(held, 1), 'ok');
      await t.advance(ASKED.ttlMs - 1);
      await t.expectStatus(t.acquire(), 'held');
      await t.advance(1);
      await t.expectStatus(t.acquire(), 'ok');
    },
    async 'gives an attempt that asks again the whole time from then on'(t) {
      const { holder } = await t.held();
      await t.advance(ASKED.ttlMs - 1);
      await t.expectStatus(t.acquire({ holder }), 'ok');
      await t.advance(ASKED.ttlMs - 1);
      await t.expectStatus(t.acquire(), 'held');
    },
    async 'rises although it may have forgotten the last token, and notices no loss'(t) {
      const first = await t.held();
      for (let count = 0; count < 4; count++) {
        await t.advance(LONG_MS);
        await t.release(await t.held({ lock: 'other' }));
      }
      const { token: have, era } = first;
      const second = await t.held({ have });
      t.rises(first, second);
      t.expect(second.era).toEqual(era);
    },
    async 'frees nothing and repeats no token although its clock goes back, again and again'(t) {
      let last = await t.held();
      for (const stepMs of [-3_600_000, 500, -10, -60_000, 1]) {
        await t.advance(stepMs);
        const answer = await t.acquire();
        t.expect(answer.status).toEqual('held');
        // A store may apply a step of some seconds late.
        t.expect('leftMs' in answer && answer.leftMs < 60_000).toEqual(true);
        await t.release(last);
        const next = await t.held();
        t.rises(last, next);
        last = next;
      }
    },
  }),
  ...lockCases(['clock', 'steps'], {
    async 'ends no lock by a step forward that the clock of a known caller contradicts'(t) {
      const { nowMs, wallMs } = await t.clocks();
      const held = await t.held();
      await t.advance(HOUR_MS);
      await t.expectStatus(t.acquire({ clocks: { wallMs: 0, nowMs: nowMs + 1 } }), 'held');
      // The next caller sends no clock, or a wall clock that was as wrong as the store's.
      await t.expectStatus(t.acquire(), 'held');
      await t.expectStatus(t.acquire({ clocks: { wallMs: wallMs + HOUR_MS } }), 'held');
      await t.expectStatus(t.extend(held), 'ok');
      await t.advance(2 * ASKED.ttlMs);
      t.rises(held, await t.held());
    },
    async 'ends no lock when its clock comes back from such a step'(t) {
      const { nowMs } = await t.clocks();
      const held = await t.held();
      await t.advance(HOUR_MS);
      await t.expectStatus(t.extend({ ...held, clocks: { wallMs: 0, nowMs } }), 'ok');
      await t.advance(-HOUR_MS);
      await t.expectStatus(t.acquire(), 'held');
      await t.advance(ASKED.ttlMs - 1);
      await t.expectStatus(t.acquire(), 'held');
      await t.advance(ASKED.ttlMs);
      t.rises(held, await t.held());
    },
    async 'ends no lock by a step beyond any lock that the wall clock of a new caller contradicts'(
      t,
    ) {
      const { wallMs } = await t.clocks();
      await t.held();
      await t.advance(HOUR_MS);
      await t.expectStatus(t.acquire({ clocks: { wallMs } }), 'held');
    },
    async 'ends no lock by the release of another one after a step forward'(t) {
      const { nowMs } = await t.clocks();
      const other = await t.held({ lock: 'other' });
      await t.held();
      await t.advance(HOUR_MS);
      await t.release(other, 1, { wallMs: 0, nowMs });
      await t.expectStatus(t.acquire(), 'held');
    },
    async 'stops once, for some seconds, for a caller that has slept'(t) {
      const first = await t.clocks();
      await t.held();
      let nowMs = first.nowMs - HOUR_MS;
      let passedMs = 0;
      for (; passedMs <= 4 * ASKED.ttlMs; passedMs += 500) {
        const answer = await t.acquire({ clocks: { wallMs: 0, nowMs } });
        if (answer.status === 'ok') break;
        nowMs = answer.nowMs! + 500;
        await t.advance(500);
      }
      t.expect(passedMs).toBeGreaterThanOrEqual(ASKED.ttlMs);
      t.expect(passedMs <= 3 * ASKED.ttlMs).toEqual(true);
    },
    async 'follows a step forward that no clock contradicts, as after a time without callers'(t) {
      const { nowMs, wallMs } = await t.clocks();
      const held = await t.held();
      await t.advance(HOUR_MS);
      const clocks = { wallMs: wallMs + HOUR_MS, nowMs: nowMs + HOUR_MS };
      t.rises(held, await t.held({ clocks }));
    },
    async 'comes back to the clock of the store by an order, which counts as a loss of data'(t) {
      await t.begin();
      await t.advance(HOUR_MS);
      const held = await t.held();
      const other = await t.held({ lock: 'other' });
      await t.advance(-HOUR_MS);
      const settled = await t.extend({ ...held, settles: true }, 1);
      t.expect(settled.status).toEqual('lost');
      t.expect('nowMs' in settled && settled.nowMs! - settled.timeMs!).toEqual(0);
      // Otherwise, the other lock would last until the clock reaches that time again.
      await t.expectStatus(t.extend({ ...other, settles: true }, 1), 'lost');
      await t.expectStatus(t.extend(held), 'lost');
      await t.expectStatus(t.acquire(), 'wait');
      const next = await t.held({ highest: other.token });
      t.rises(held, next);
      t.expect(next.nowMs! - next.timeMs! < 60_000).toEqual(true);
      t.rises(other, await t.held({ lock: 'other', highest: next.token }));
    },
    async 'repeats no token after such an order, although it has forgotten the lock'(t) {
      await t.begin();
      await t.advance(HOUR_MS);
      const held = await t.held();
      await t.release(held);
      for (let at = 0; at < 4; at++) {
        await t.advance(61_000);
        await t.release(await t.held({ lock: 'other' }));
      }
      await t.advance(-HOUR_MS);
      await t.extend({ ...held, settles: true }, 1);
      t.rises(held, await t.held());
    },
    async 'loses nothing by such an order if it is not ahead'(t) {
      const held = await t.held();
      await t.extend({ lock: 'other', holder: 'operator', token: 0n, settles: true }, 1);
      await t.expectStatus(t.extend(held), 'ok');
      await t.expectStatus(t.acquire(), 'held');
    },
  }),
  ...lockCases(['clock', 'locks'], {
    async 'keeps a released lock from others for as long as was asked'(t) {
      const held = await t.held();
      await t.release(held, LONG_MS);
      await t.expectStatus(t.extend(held), 'lost');
      await t.advance(LONG_MS - 1);
      await t.expectStatus(t.acquire(), 'held');
      t.expect((await (await t.store()).locks!()).map(({ isKept }) => isKept)).toEqual([true]);
      await t.advance(1);
      t.rises(held, await t.held());
    },
  }),
];
