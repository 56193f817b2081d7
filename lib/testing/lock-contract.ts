/**
 * The duties of a store to holders of locks, and to callers that want one. Each case is one
 * property, in words.
 */
import { DistributedLock } from '../lock/distributed-lock.js';
import { turn } from '../time/timers.js';
import { grantIn } from './contract/harness.js';
import { ASKED, type LockCase, type LockHarness } from './lock-harness.js';

export const HOLD_CASES: readonly LockCase[] = [
  {
    name: 'grants a lock to one, and tells others by whom it is held',
    needs: [],
    async run(harness) {
      const { token, ttlMs } = await harness.held({ label: 'host 7 shop' });
      harness.expect([token > 0n, token < 2n ** 63n, ttlMs]).toEqual([true, true, ASKED.ttlMs]);
      const answer = await harness.acquire();
      harness.expect(answer.status).toEqual('held');
      if (answer.status !== 'held') return;
      harness.expect(answer.label).toEqual('host 7 shop');
      harness.expect(answer.leftMs <= ASKED.ttlMs).toEqual(true);
      harness.expect(answer.leftMs).toBeGreaterThanOrEqual(1);
      harness.expect(answer.token ?? token).toEqual(token);
    },
  },
  {
    name: 'keeps locks of other names apart',
    needs: [],
    async run(harness) {
      const order = await harness.held();
      const other = await harness.held({ lock: 'ORDER:7' });
      await harness.release(other);
      await harness.expectStatus(harness.extend(order), 'ok');
      await harness.expectStatus(harness.acquire(), 'held');
    },
  },
  {
    name: 'grants a released lock at once, with a higher token',
    needs: [],
    async run(harness) {
      let last = await harness.held();
      for (let count = 0; count < 20; count++) {
        await harness.release(last);
        const holder = harness.newHolder();
        const next = { ...last, holder, ...grantIn(await harness.acquire({ holder })) };
        harness.rises(last, next);
        last = next;
      }
    },
  },
  {
    name: 'answers an attempt that asks again with the same token',
    needs: [],
    async run(harness) {
      const { holder, token } = await harness.held();
      const again = grantIn(await harness.acquire({ holder }));
      harness.expect(again.token).toEqual(token);
    },
  },
  {
    name: 'grants a token that is higher than one that somebody has',
    needs: [],
    async run(harness) {
      const { token } = await harness.held({ lock: 'other' });
      const have = token + 2n ** 40n;
      const held = await harness.held({ have });
      harness.expect(held.token > have).toEqual(true);
    },
  },
  {
    name: 'extends for the holder alone',
    needs: [],
    async run(harness) {
      const held = await harness.held();
      harness.expect((await harness.extend(held)).status).toEqual('ok');
      await harness.expectStatus(harness.extend({ ...held, holder: harness.newHolder() }), 'lost');
      await harness.expectStatus(harness.extend({ ...held, token: held.token - 1n }), 'lost');
      await harness.expectStatus(harness.extend({ ...held, lock: 'other' }), 'lost');
      await harness.expectStatus(harness.extend(held), 'ok');
    },
  },
  {
    name: 'releases for the holder alone',
    needs: [],
    async run(harness) {
      const held = await harness.held();
      await harness.release({ ...held, holder: harness.newHolder() });
      await harness.release({ ...held, token: held.token + 1n });
      await harness.expectStatus(harness.extend(held), 'ok');
      await harness.release(held);
      await harness.expectStatus(harness.extend(held), 'lost');
    },
  },
  {
    name: 'releases for an attempt that never heard its token',
    needs: [],
    async run(harness) {
      const { lock, holder } = await harness.held();
      await (await harness.store()).release({ lock, holder });
      await harness.expectStatus(harness.acquire(), 'ok');
    },
  },
  {
    name: 'leaves the next holder alone when the last one releases again',
    needs: [],
    async run(harness) {
      const first = await harness.held();
      await harness.release(first);
      const second = await harness.held();
      await harness.release(first);
      await harness.expectStatus(harness.extend(second), 'ok');
      await harness.expectStatus(harness.acquire(), 'held');
    },
  },
  {
    name: 'hands on the note of a holder, and takes none from another caller',
    needs: [],
    async run(harness) {
      const first = await harness.held();
      harness.expect(first.note).toEqual(undefined);
      await harness.expectStatus(harness.extend({ ...first, note: '{"at":"ä|\n"}' }), 'ok');
      const again = grantIn(await harness.acquire({ holder: first.holder }));
      harness.expect(again.note).toEqual('{"at":"ä|\n"}');
      await harness.expectStatus(harness.extend({ ...first, note: 'second' }), 'ok');
      await harness.expectStatus(harness.extend(first), 'ok');
      await harness.release(first);
      await harness.expectStatus(harness.extend({ ...first, note: 'too late' }), 'lost');
      const next = await harness.held();
      harness.expect(next.note).toEqual('second');
      const other = { ...next, holder: harness.newHolder(), note: 'from another' };
      await harness.expectStatus(harness.extend(other), 'lost');
      await harness.expectStatus(harness.extend({ ...next, note: 'third' }), 'ok');
      await harness.release(next);
      harness.expect((await harness.held({ lock: 'other' })).note).toEqual(undefined);
      harness.expect((await harness.held()).note).toEqual('third');
    },
  },
  {
    name: 'lists the notes, also of locks that are free',
    needs: ['notes'],
    async run(harness) {
      const held = await harness.held({ lock: 'b' });
      await harness.extend({ ...held, note: 'of b' });
      const free = await harness.held({ lock: 'a' });
      await harness.extend({ ...free, note: 'of a' });
      await harness.release(free);
      await harness.held({ lock: 'c' });
      harness.expect(await (await harness.store()).notes!()).toEqual([
        { lock: 'a', note: 'of a' },
        { lock: 'b', note: 'of b' },
      ]);
    },
  },
  {
    name: 'lists who holds what',
    needs: ['locks'],
    async run(harness) {
      const { lock, token } = await harness.held({ lock: 'b', label: 'second' });
      await harness.held({ lock: 'a', label: 'first' });
      await harness.release(await harness.held({ lock: 'c' }));
      const locks = await (await harness.store()).locks!();
      harness.expect(locks.map(({ label, isKept }) => [label, isKept])).toEqual([
        ['first', false],
        ['second', false],
      ]);
      harness.expect([locks[1]!.lock, locks[1]!.token]).toEqual([lock, token]);
      harness.expect(locks[1]!.leftMs).toBeGreaterThanOrEqual(1);
    },
  },
  {
    name: 'refuses requests that cannot be meant so',
    needs: [],
    async run(harness) {
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
        const failure: unknown = await harness.acquire(changes).then(
          () => 'nothing',
          (error: unknown) => (error as { code?: unknown }).code,
        );
        harness.expect([changes, failure]).toEqual([changes, 'CONFIG_INVALID']);
      }
    },
  },
  {
    name: 'wakes whoever waits for a release, and not before',
    needs: ['untilReleased'],
    async run(harness) {
      const held = await harness.held();
      const store = await harness.another();
      const [woken, given] = [new AbortController(), new AbortController()];
      let isFree = false;
      const waiting = store.untilReleased!(held.lock, 60_000, woken.signal).then(async () => {
        harness.expect(isFree).toEqual(true);
      });
      const givenUp = store.untilReleased!(held.lock, 60_000, given.signal);
      given.abort();
      await givenUp;
      isFree = true;
      // A subscription may begin later than the call, so that waiters poll as well.
      for (let count = 0; count < 20; count++) {
        await harness.release(held);
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

/* The duties of a store when many processes ask at once. */

const RACE_COUNT = 20;
const TRIES_MAX = 5000;
/** On a slow machine a short lock would be over before the last one asks, and granted again. */
const HELD_THROUGHOUT = { ttlMs: 20_000, longestMs: 20_000 };

export const LOCK_RACE_CASES: readonly LockCase[] = [
  {
    name: `grants a lock to one of ${RACE_COUNT} who ask at once`,
    needs: [],
    async run(harness) {
      await harness.begin(HELD_THROUGHOUT);
      const stores = [await harness.store(), await harness.another(), await harness.another()];
      const answers = await Promise.all(
        Array.from({ length: RACE_COUNT }, (_, at) => {
          const holder = harness.newHolder();
          return stores[at % stores.length]!.acquire({ ...ASKED, ...HELD_THROUGHOUT, holder });
        }),
      );
      const statuses = answers.map(({ status }) => status).toSorted();
      const others = Array.from({ length: RACE_COUNT - 1 }, () => 'held');
      harness.expect(statuses).toEqual([...others, 'ok']);
    },
  },
  {
    name: `hands a lock through ${RACE_COUNT} who want it, with tokens that rise`,
    needs: [],
    async run(harness) {
      await harness.begin();
      const stores = [await harness.store(), await harness.another(), await harness.another()];
      const tokens: bigint[] = [];
      const through = async (at: number) => {
        const store = stores[at % stores.length]!;
        const { lock } = ASKED;
        const holder = harness.newHolder();
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          const answer = await store.acquire({ ...ASKED, holder });
          if (answer.status !== 'ok') continue;
          tokens.push(answer.token);
          await store.release({ lock, holder, token: answer.token });
          return;
        }
      };
      await Promise.all(Array.from({ length: RACE_COUNT }, (_, at) => through(at)));
      harness.expect(tokens.length).toEqual(RACE_COUNT);
      harness.expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    },
  },
  {
    name: 'grants as many permits as there are, each to one of all who ask at once',
    needs: [],
    async run(harness) {
      const [one, other] = await fleetOf(harness);
      const ask = (at: number) => [one, other][at % 2]!.tryAcquire('pool', { permits: 3 });
      const asked = await Promise.all(Array.from({ length: RACE_COUNT }, (_, at) => ask(at)));
      const granted = asked.filter((lock) => lock !== undefined);
      harness
        .expect(granted.map(({ permit }) => permit).toSorted((a, b) => a - b))
        .toEqual([1, 2, 3]);
      harness.expect(await other.tryAcquire('pool', { permits: 3 })).toEqual(undefined);
      await granted[1]!.release();
      const next = await other.acquire('pool', { permits: 3, waitMs: 5000 });
      harness.expect(next.permit).toEqual(granted[1]!.permit);
      harness.rises(granted[1]!, next);
      await Promise.all([granted[0]!, granted[2]!, next].map((lock) => lock.release()));
    },
  },
  {
    name: 'takes several locks or none of them, and no two wait for each other',
    needs: [],
    async run(harness) {
      const [one, other] = await fleetOf(harness);
      const held = await one.acquire('b');
      const refused: unknown = await other.acquireAll(['c', 'b', 'a']).catch((error: unknown) => {
        return (error as { code?: unknown }).code;
      });
      harness.expect(refused).toEqual('LOCK_HELD');
      await held.release();
      const both = await Promise.all([
        one.usingAll(['a', 'b', 'c'], { waitMs: 20_000 }, ({ tokens }) => tokens),
        other.usingAll(['c', 'b', 'a'], { waitMs: 20_000 }, ({ tokens }) => tokens),
      ]);
      const [first, second] = both.toSorted((a, b) => (a.get('a')! < b.get('a')! ? -1 : 1));
      for (const [lock, token] of first!) harness.rises({ token }, { token: second!.get(lock)! });
    },
  },
];

/** Two processes on a store that grants. They are not closed: the store is the harness's. */
async function fleetOf(harness: LockHarness): Promise<readonly [DistributedLock, DistributedLock]> {
  await harness.begin(HELD_THROUGHOUT);
  const { ttlMs, longestMs: longestTtlMs } = HELD_THROUGHOUT;
  const options = { ttlMs, longestTtlMs, callTimeoutMs: 60_000 };
  return [
    new DistributedLock(await harness.store(), options),
    new DistributedLock(await harness.another(), options),
  ];
}
