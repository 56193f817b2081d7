/**
 * What a store must do as time goes by, and goes back.
 * Each case is one property, in words.
 */
import { ASKED, type LockCase } from './lock-bench.js';

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
