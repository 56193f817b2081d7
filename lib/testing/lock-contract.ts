/**
 * What a store must do for whoever holds a lock, and for whoever wants it. Each case is one
 * property, in words.
 */
import { turn } from '../time/timers.js';
import { ASKED, grantIn, type LockCase } from './lock-bench.js';

export const HOLD_CASES: readonly LockCase[] = [
  {
    name: 'grants a lock to one, and tells others by whom it is held',
    needs: [],
    async run(bench) {
      const { token, ttlMs } = await bench.held({ label: 'host 7 shop' });
      bench.expect([token > 0n, token < 2n ** 63n, ttlMs]).toEqual([true, true, ASKED.ttlMs]);
      const answer = await bench.acquire();
      bench.expect(answer.status).toEqual('held');
      if (answer.status !== 'held') return;
      bench.expect(answer.label).toEqual('host 7 shop');
      bench.expect(answer.leftMs <= ASKED.ttlMs).toEqual(true);
      bench.expect(answer.leftMs).toBeGreaterThanOrEqual(1);
      bench.expect(answer.token ?? token).toEqual(token);
    },
  },
  {
    name: 'keeps locks of other names apart',
    needs: [],
    async run(bench) {
      const order = await bench.held();
      const other = await bench.held({ lock: 'ORDER:7' });
      await bench.release(other);
      await bench.expectStatus(bench.extend(order), 'ok');
      await bench.expectStatus(bench.acquire(), 'held');
    },
  },
  {
    name: 'grants a released lock at once, with a higher token',
    needs: [],
    async run(bench) {
      let last = await bench.held();
      for (let count = 0; count < 20; count++) {
        await bench.release(last);
        const holder = bench.newHolder();
        const next = { ...last, holder, ...grantIn(await bench.acquire({ holder })) };
        bench.rises(last, next);
        last = next;
      }
    },
  },
  {
    name: 'answers an attempt that asks again with the same token',
    needs: [],
    async run(bench) {
      const { holder, token } = await bench.held();
      const again = grantIn(await bench.acquire({ holder }));
      bench.expect(again.token).toEqual(token);
    },
  },
  {
    name: 'grants a token that is higher than one that somebody has',
    needs: [],
    async run(bench) {
      const { token } = await bench.held({ lock: 'other' });
      const have = token + 2n ** 40n;
      const held = await bench.held({ have });
      bench.expect(held.token > have).toEqual(true);
    },
  },
  {
    name: 'extends for the holder alone',
    needs: [],
    async run(bench) {
      const held = await bench.held();
      bench.expect((await bench.extend(held)).status).toEqual('ok');
      await bench.expectStatus(bench.extend({ ...held, holder: bench.newHolder() }), 'lost');
      await bench.expectStatus(bench.extend({ ...held, token: held.token - 1n }), 'lost');
      await bench.expectStatus(bench.extend({ ...held, lock: 'other' }), 'lost');
      await bench.expectStatus(bench.extend(held), 'ok');
    },
  },
  {
    name: 'releases for the holder alone',
    needs: [],
    async run(bench) {
      const held = await bench.held();
      await bench.release({ ...held, holder: bench.newHolder() });
      await bench.release({ ...held, token: held.token + 1n });
      await bench.expectStatus(bench.extend(held), 'ok');
      await bench.release(held);
      await bench.expectStatus(bench.extend(held), 'lost');
    },
  },
  {
    name: 'releases for an attempt that never heard its token',
    needs: [],
    async run(bench) {
      const { lock, holder } = await bench.held();
      await (await bench.store()).release({ lock, holder });
      await bench.expectStatus(bench.acquire(), 'ok');
    },
  },
  {
    name: 'leaves the next holder alone when the last one releases again',
    needs: [],
    async run(bench) {
      const first = await bench.held();
      await bench.release(first);
      const second = await bench.held();
      await bench.release(first);
      await bench.expectStatus(bench.extend(second), 'ok');
      await bench.expectStatus(bench.acquire(), 'held');
    },
  },
  {
    name: 'lists who holds what',
    needs: ['locks'],
    async run(bench) {
      const { lock, token } = await bench.held({ lock: 'b', label: 'second' });
      await bench.held({ lock: 'a', label: 'first' });
      await bench.release(await bench.held({ lock: 'c' }));
      const locks = await (await bench.store()).locks!();
      bench.expect(locks.map(({ label, isKept }) => [label, isKept])).toEqual([
        ['first', false],
        ['second', false],
      ]);
      bench.expect([locks[1]!.lock, locks[1]!.token]).toEqual([lock, token]);
      bench.expect(locks[1]!.leftMs).toBeGreaterThanOrEqual(1);
    },
  },
  {
    name: 'refuses requests that cannot be meant so',
    needs: [],
    async run(bench) {
      const wrong = [
        { lock: '' },
        { lock: 'a b' },
        { lock: 'a|b' },
        { lock: 'x'.repeat(129) },
        { holder: '' },
        { label: '' },
        { label: 'a\nb' },
        { ttlMs: 0 },
        { ttlMs: 1.5 },
        { longestMs: ASKED.ttlMs - 1 },
        { have: -1n },
      ];
      for (const changes of wrong) {
        const failure: unknown = await bench.acquire(changes).then(
          () => 'nothing',
          (error: unknown) => (error as { code?: unknown }).code,
        );
        bench.expect([changes, failure]).toEqual([changes, 'CONFIG_INVALID']);
      }
    },
  },
  {
    name: 'wakes whoever waits for a release, and not before',
    needs: ['untilReleased'],
    async run(bench) {
      const held = await bench.held();
      const store = await bench.another();
      const [woken, given] = [new AbortController(), new AbortController()];
      let isFree = false;
      const waiting = store.untilReleased!(held.lock, 60_000, woken.signal).then(async () => {
        bench.expect(isFree).toEqual(true);
      });
      const givenUp = store.untilReleased!(held.lock, 60_000, given.signal);
      given.abort();
      await givenUp;
      isFree = true;
      // A subscription may begin later than the call, so that waiters poll as well.
      for (let count = 0; count < 20; count++) {
        await bench.release(held);
        if (await settled(waiting)) break;
      }
      woken.abort();
      await waiting;
    },
  },
];

async function settled(waiting: Promise<void>): Promise<boolean> {
  return Promise.race([waiting.then(() => true), turn().then(() => false)]);
}

/*
 * What a store must do when many processes ask at once.
 * Each case is one property, in words.
 */

const RACE_COUNT = 20;
const TRIES_MAX = 5000;

export const LOCK_RACE_CASES: readonly LockCase[] = [
  {
    name: `grants a lock to one of ${RACE_COUNT} who ask at once`,
    needs: [],
    async run(bench) {
      await bench.begin();
      const stores = [await bench.store(), await bench.another(), await bench.another()];
      const answers = await Promise.all(
        Array.from({ length: RACE_COUNT }, (_, at) =>
          stores[at % stores.length]!.acquire({ ...ASKED, holder: bench.newHolder() }),
        ),
      );
      const statuses = answers.map(({ status }) => status).toSorted();
      const others = Array.from({ length: RACE_COUNT - 1 }, () => 'held');
      bench.expect(statuses).toEqual([...others, 'ok']);
    },
  },
  {
    name: `hands a lock through ${RACE_COUNT} who want it, with tokens that rise`,
    needs: [],
    async run(bench) {
      await bench.begin();
      const stores = [await bench.store(), await bench.another(), await bench.another()];
      const tokens: bigint[] = [];
      const through = async (at: number) => {
        const store = stores[at % stores.length]!;
        const { lock } = ASKED;
        const holder = bench.newHolder();
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          const answer = await store.acquire({ ...ASKED, holder });
          if (answer.status !== 'ok') continue;
          tokens.push(answer.token);
          await store.release({ lock, holder, token: answer.token });
          return;
        }
      };
      await Promise.all(Array.from({ length: RACE_COUNT }, (_, at) => through(at)));
      bench.expect(tokens.length).toEqual(RACE_COUNT);
      bench.expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    },
  },
];
