/**
 * The duties of a store to holders of locks, and to callers that request one. Each case is one
 * property, in words.
 */
import { DistributedLock } from '../lock/distributed-lock.js';
import { turn } from '../time/timers.js';
import { grantIn } from './contract/harness.js';
import { ASKED, lockCases, type LockHarness } from './lock-harness.js';

export const HOLD_CASES = [
  ...lockCases([], {
    async 'grants a lock to one, and tells others by whom it is held'(t) {
      const { token, ttlMs } = await t.held({ label: 'host 7 shop' });
      t.expect([token > 0n, token < 2n ** 63n, ttlMs]).toEqual([true, true, ASKED.ttlMs]);
      const answer = await t.acquire();
      t.expect(answer.status).toEqual('held');
      if (answer.status !== 'held') return;
      t.expect(answer.label).toEqual('host 7 shop');
      t.expect(answer.leftMs <= ASKED.ttlMs).toEqual(true);
      t.expect(answer.leftMs).toBeGreaterThanOrEqual(1);
      t.expect(answer.token ?? token).toEqual(token);
    },
    async 'keeps locks of other names apart'(t) {
      const order = await t.held();
      const other = await t.held({ lock: 'ORDER:7' });
      await t.release(other);
      await t.expectStatus(t.extend(order), 'ok');
      await t.expectStatus(t.acquire(), 'held');
    },
    async 'grants a released lock at once, with a higher token'(t) {
      let last = await t.held();
      for (let count = 0; count < 20; count++) {
        await t.release(last);
        const holder = t.newHolder();
        const next = { ...last, holder, ...grantIn(await t.acquire({ holder })) };
        t.rises(last, next);
        last = next;
      }
    },
    async 'answers an attempt that asks again with the same token'(t) {
      const { holder, token } = await t.held();
      const again = grantIn(await t.acquire({ holder }));
      t.expect(again.token).toEqual(token);
    },
    async 'grants a token that is higher than one that somebody has'(t) {
      const { token } = await t.held({ lock: 'other' });
      const have = token + 2n ** 40n;
      const held = await t.held({ have });
      t.expect(held.token > have).toEqual(true);
    },
    async 'extends for the holder alone'(t) {
      const held = await t.held();
      t.expect((await t.extend(held)).status).toEqual('ok');
      await t.expectStatus(t.extend({ ...held, holder: t.newHolder() }), 'lost');
      await t.expectStatus(t.extend({ ...held, token: held.token - 1n }), 'lost');
      await t.expectStatus(t.extend({ ...held, lock: 'other' }), 'lost');
      await t.expectStatus(t.extend(held), 'ok');
    },
    async 'releases for the holder alone'(t) {
      const held = await t.held();
      await t.release({ ...held, holder: t.newHolder() });
      await t.release({ ...held, token: held.token + 1n });
      await t.expectStatus(t.extend(held), 'ok');
      await t.release(held);
      await t.expectStatus(t.extend(held), 'lost');
    },
    async 'releases for an attempt that never heard its token'(t) {
      const { lock, holder } = await t.held();
      await (await t.store()).release({ lock, holder });
      await t.expectStatus(t.acquire(), 'ok');
    },
    async 'leaves the next holder alone when the last one releases again'(t) {
      const first = await t.held();
      await t.release(first);
      const second = await t.held();
      await t.release(first);
      await t.expectStatus(t.extend(second), 'ok');
      await t.expectStatus(t.acquire(), 'held');
    },
    async 'hands on the note of a holder, and takes none from another caller'(t) {
      const first = await t.held();
      t.expect(first.note).toEqual(undefined);
      await t.expectStatus(t.extend({ ...first, note: '{"at":"ä|\n"}' }), 'ok');
      const again = grantIn(await t.acquire({ holder: first.holder }));
      t.expect(again.note).toEqual('{"at":"ä|\n"}');
      await t.expectStatus(t.extend({ ...first, note: 'second' }), 'ok');
      await t.expectStatus(t.extend(first), 'ok');
      await t.release(first);
      await t.expectStatus(t.extend({ ...first, note: 'too late' }), 'lost');
      const next = await t.held();
      t.expect(next.note).toEqual('second');
      const other = { ...next, holder: t.newHolder(), note: 'from another' };
      await t.expectStatus(t.extend(other), 'lost');
      await t.expectStatus(t.extend({ ...next, note: 'third' }), 'ok');
      await t.release(next);
      t.expect((await t.held({ lock: 'other' })).note).toEqual(undefined);
      t.expect((await t.held()).note).toEqual('third');
    },
    async 'refuses requests that cannot be meant so'(t) {
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
        const failure: unknown = await t.acquire(changes).then(
          () => 'nothing',
          (error: unknown) => (error as { code?: unknown }).code,
        );
        t.expect([changes, failure]).toEqual([changes, 'CONFIG_INVALID']);
      }
    },
  }),
  ...lockCases(['notes'], {
    async 'lists the notes, also of locks that are free'(t) {
      const held = await t.held({ lock: 'b' });
      await t.extend({ ...held, note: 'of b' });
      const free = await t.held({ lock: 'a' });
      await t.extend({ ...free, note: 'of a' });
      await t.release(free);
      await t.held({ lock: 'c' });
      t.expect(await (await t.store()).notes!()).toEqual([
        { lock: 'a', note: 'of a' },
        { lock: 'b', note: 'of b' },
      ]);
    },
  }),
  ...lockCases(['locks'], {
    async 'lists who holds what'(t) {
      const { lock, token } = await t.held({ lock: 'b', label: 'second' });
      await t.held({ lock: 'a', label: 'first' });
      await t.release(await t.held({ lock: 'c' }));
      const locks = await (await t.store()).locks!();
      t.expect(locks.map(({ label, isKept }) => [label, isKept])).toEqual([
        ['first', false],
        ['second', false],
      ]);
      t.expect([locks[1]!.lock, locks[1]!.token]).toEqual([lock, token]);
      t.expect(locks[1]!.leftMs).toBeGreaterThanOrEqual(1);
    },
  }),
  ...lockCases(['untilReleased'], {
    async 'wakes whoever waits for a release, and not before'(t) {
      const held = await t.held();
      const store = await t.another();
      const [woken, given] = [new AbortController(), new AbortController()];
      let isFree = false;
      const waiting = store.untilReleased!(held.lock, 60_000, woken.signal).then(async () => {
        t.expect(isFree).toEqual(true);
      });
      const givenUp = store.untilReleased!(held.lock, 60_000, given.signal);
      given.abort();
      await givenUp;
      isFree = true;
      // A subscription may begin later than the call, so waiters also poll.
      for (let count = 0; count < 20; count++) {
        await t.release(held);
        if (await settled(waiting)) break;
      }
      woken.abort();
      await waiting;
    },
  }),
];

async function settled(waiting: Promise<void>): Promise<boolean> {
  return Promise.race([waiting.then(() => true), turn().then(() => false)]);
}

/* The duties of a store when many processes call concurrently. */

const RACE_COUNT = 20;
const TRIES_MAX = 5000;
/** On a slow machine, a short lock would end and be granted again before the last process calls. */
const HELD_THROUGHOUT = { ttlMs: 20_000, longestMs: 20_000 };

export const LOCK_RACE_CASES = lockCases([], {
  async [`grants a lock to one of ${RACE_COUNT} who ask at once`](t) {
    await t.begin(HELD_THROUGHOUT);
    const stores = [await t.store(), await t.another(), await t.another()];
    const answers = await Promise.all(
      Array.from({ length: RACE_COUNT }, (_, at) => {
        const holder = t.newHolder();
        return stores[at % stores.length]!.acquire({ ...ASKED, ...HELD_THROUGHOUT, holder });
      }),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    const others = Array.from({ length: RACE_COUNT - 1 }, () => 'held');
    t.expect(statuses).toEqual([...others, 'ok']);
  },
  async [`hands a lock through ${RACE_COUNT} who want it, with tokens that rise`](t) {
    await t.begin();
    const stores = [await t.store(), await t.another(), await t.another()];
    const tokens: bigint[] = [];
    const through = async (at: number) => {
      const store = stores[at % stores.length]!;
      const { lock } = ASKED;
      const holder = t.newHolder();
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const answer = await store.acquire({ ...ASKED, holder });
        if (answer.status !== 'ok') continue;
        tokens.push(answer.token);
        await store.release({ lock, holder, token: answer.token });
        return;
      }
    };
    await Promise.all(Array.from({ length: RACE_COUNT }, (_, at) => through(at)));
    t.expect(tokens.length).toEqual(RACE_COUNT);
    t.expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
  },
  async 'grants as many permits as there are, each to one of all who ask at once'(t) {
    const [one, other] = await fleetOf(t);
    const ask = (at: number) => [one, other][at % 2]!.tryAcquire('pool', { permits: 3 });
    const asked = await Promise.all(Array.from({ length: RACE_COUNT }, (_, at) => ask(at)));
    const granted = asked.filter((lock) => lock !== undefined);
    t.expect(granted.map(({ permit }) => permit).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    t.expect(await other.tryAcquire('pool', { permits: 3 })).toEqual(undefined);
    await granted[1]!.release();
    const next = await other.acquire('pool', { permits: 3, waitMs: 5000 });
    t.expect(next.permit).toEqual(granted[1]!.permit);
    t.rises(granted[1]!, next);
    await Promise.all([granted[0]!, granted[2]!, next].map((lock) => lock.release()));
  },
  async 'takes several locks or none of them, and no two wait for each other'(t) {
    const [one, other] = await fleetOf(t);
    const held = await one.acquire('b');
    const refused: unknown = await other.acquireAll(['c', 'b', 'a']).catch((error: unknown) => {
      return (error as { code?: unknown }).code;
    });
    t.expect(refused).toEqual('LOCK_HELD');
    await held.release();
    const both = await Promise.all([
      one.usingAll(['a', 'b', 'c'], { waitMs: 20_000 }, ({ tokens }) => tokens),
      other.usingAll(['c', 'b', 'a'], { waitMs: 20_000 }, ({ tokens }) => tokens),
    ]);
    const [first, second] = both.toSorted((a, b) => (a.get('a')! < b.get('a')! ? -1 : 1));
    for (const [lock, token] of first!) t.rises({ token }, { token: second!.get(lock)! });
  },
});

/** Two processes on a store that grants locks. They stay open, because the store belongs to the harness. */
async function fleetOf(harness: LockHarness): Promise<readonly [DistributedLock, DistributedLock]> {
  await harness.begin(HELD_THROUGHOUT);
  const { ttlMs, longestMs: longestTtlMs } = HELD_THROUGHOUT;
  const options = { ttlMs, longestTtlMs, callTimeoutMs: 60_000 };
  return [
    new DistributedLock(await harness.store(), options),
    new DistributedLock(await harness.another(), options),
  ];
}
