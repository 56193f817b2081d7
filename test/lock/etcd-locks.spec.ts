/**
 * Locks in etcd keep the contract: once with the leases, the clock and the cluster in the hands of
 * the test, once by etcd's own clock; and while keys are spoilt, lost and restored.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockRecord, LockStore } from '../../lib/lock/lock-store.js';
import { locksFromUrl } from '../../lib/stores/etcd/etcd-locks.js';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { ETCD_LOCK_MUTANTS } from '../mutants/lock-mutants.mjs';
import { loadLibrary } from '../mutants/load-library.mjs';
import { endpointOf, EtcdKeys, etcdProxy } from '../stores/etcd-lab.js';
import { failureOf } from '../stores/redis-lab.js';
import { walkLocks, type WalkReport } from './settable-locks.js';
import {
  settableEtcdLocks,
  type SettableEtcdLocks,
  STALLS,
  stalls,
} from './settable-etcd-locks.js';
import { heldIn, namedLock, readySpaces } from './held-locks.js';

describe('etcd locks', () => {
  const ETCD = process.env['ETCD_URL']!;
  const ENDPOINT = endpointOf(ETCD);
  const SHORT = { ttlMs: 1000, longestMs: 1000 };
  const opened: LockStore[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close!()));
  });

  function storeAt(endpoint: string, namespace: string): LockStore {
    const store = etcdLocks({ endpoints: [endpoint], namespace, requestTimeoutMs: 60_000 });
    opened.push(store);
    return store;
  }

  describe('etcdLocks, told the time by the test', () => {
    const store = settableEtcdLocks(() => ENDPOINT);
    afterEach(() => store.end());

    describeLockStore({ test: it, expect, leaveOut: ['untilReleased'], ...store });
  });

  describe('etcdLocks', () => {
    let createStore: (name: string) => LockStore;
    beforeAll(async () => {
      const storeOf = (space: string) =>
        locksFromUrl(`${ETCD}?namespace=${space.replace('/', '-')}&requestTimeoutMs=60000`);
      createStore = await readySpaces(storeOf);
    });

    describeLockStore({
      test: it,
      expect,
      createStore(name) {
        const store = createStore(name);
        opened.push(store);
        return store;
      },
      leaveOut: ['clock', 'losses', 'untilReleased'],
    });
  });

  describe('a lock in etcd', () => {
    it('ends by itself, and no earlier than was asked for', async () => {
      const store = storeAt(ENDPOINT, randomUUID());
      const held = await heldIn(store, namedLock('a', SHORT));
      const since = performance.now();
      await store.extend({ ...held, ttlMs: 1000 });
      for (;;) {
        const next = namedLock('a', SHORT);
        const answer = await store.acquire(next);
        if (answer.status !== 'ok') continue;
        expect(performance.now() - since).toBeGreaterThan(1000);
        expect(answer.token > held.token).toBe(true);
        break;
      }
      expect(await store.extend({ ...held, ttlMs: 1000 })).toEqual({ status: 'lost' });
    });

    it('is granted by nothing into which somebody else wrote', async () => {
      const keys = new EtcdKeys(ENDPOINT, randomUUID());
      const store = storeAt(ENDPOINT, keys.namespace);
      await heldIn(store, namedLock('a', SHORT));
      for (const name of ['locks/held/a', 'locks/header']) {
        for (const value of ['{}', 'x', '{"version":"2"}']) {
          await keys.put(name, value);
          const failure = await failureOf(store.acquire(namedLock('a', SHORT)));
          expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
        }
      }
    });

    it('stays with the attempt whose answer was lost, with the same token', async () => {
      const proxy = await etcdProxy(ENDPOINT);
      const namespace = randomUUID();
      const store = storeAt(proxy.endpoint, namespace);
      await store.release(await heldIn(store, namedLock('first', SHORT)));
      const request = namedLock('a', { ttlMs: 30_000, longestMs: 30_000 });
      let isLost = false;
      proxy.handler = async ({ path, body, pass, drop }) => {
        const passed = await pass();
        if (isLost || path !== 'kv/txn' || !body.includes('"lease"')) return passed;
        isLost = true;
        return drop();
      };
      const failure = await failureOf(store.acquire(request));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      const other = namedLock('a', { longestMs: 30_000 });
      expect(await store.acquire(other)).toMatchObject({ status: 'held' });
      const [lock] = await store.locks!();
      const answer = await store.acquire(request);
      expect(answer).toMatchObject({ status: 'ok', token: lock!.token });
      await proxy.close();
    });

    it('is not granted by an attempt that stalled until everything was lost', async () => {
      const proxy = await etcdProxy(ENDPOINT);
      const keys = new EtcdKeys(ENDPOINT, randomUUID());
      const stalled = storeAt(proxy.endpoint, keys.namespace);
      await stalled.release(await heldIn(stalled, namedLock('a', SHORT)));
      const heard: unknown[] = [];
      proxy.handler = async ({ path, body, pass }) => {
        if (path === 'kv/txn' && body.includes('"lease"')) {
          proxy.handler = ({ pass: passed }) => passed();
          await keys.deleteAll();
          const other = storeAt(ENDPOINT, keys.namespace);
          heard.push(await other.acquire(namedLock('a', SHORT)));
        }
        return pass();
      };
      heard.push(await stalled.acquire(namedLock('a', SHORT)));
      expect(heard).toMatchObject([{ status: 'wait' }, { status: 'wait' }]);
      await proxy.close();
    });

    it('is not lost where others write while its run begins', async () => {
      const keys = new EtcdKeys(ENDPOINT, randomUUID());
      const others = new EtcdKeys(ENDPOINT, randomUUID());
      const proxy = await etcdProxy(ENDPOINT, async ({ path, pass }) => {
        if (path === 'maintenance/status') {
          for (let count = 0; count < 20; count++) await others.put('x', String(count));
        }
        return pass();
      });
      const store = storeAt(proxy.endpoint, keys.namespace);
      await store.release(await heldIn(store, namedLock('a', SHORT)));
      const other = storeAt(ENDPOINT, keys.namespace);
      expect(await other.acquire(namedLock('a', SHORT))).toMatchObject({ status: 'ok', era: 1 });
      await proxy.close();
    });

    it('is seen to have two holders where what was read is not compared', async () => {
      const proxy = await etcdProxy(ENDPOINT, async ({ body, pass }) => {
        const asked = JSON.parse(body || '{}') as { compare?: { target: string }[] };
        const compare = asked.compare?.filter(({ target }) => target === 'VALUE');
        return pass(compare === undefined ? body : JSON.stringify({ ...asked, compare }));
      });
      const namespace = randomUUID();
      const stores = Array.from({ length: 6 }, () => storeAt(proxy.endpoint, namespace));
      const pace = { clientCount: 12, lockCount: 1, ttlMs: 2000, lastsMs: 6000, seed: 5 };
      const isEnough = ({ twoHolders }: WalkReport) => twoHolders.length > 0;
      expect(isEnough(await walkLocks({ ...pace, stores, isEnough }))).toBe(true);
      await proxy.close();
    });

    it('leaves nothing behind', async () => {
      const keys = new EtcdKeys(ENDPOINT, randomUUID());
      const store = storeAt(ENDPOINT, keys.namespace);
      const held = await heldIn(store, namedLock('a', SHORT));
      await store.extend({ ...held, ttlMs: 1000 });
      await store.release(held);
      expect([...(await keys.all()).keys()]).toEqual(['locks/header']);
    });
  });
});

/*
 * The locks in etcd are seen to need each of their rules: one that is broken is noticed by the
 * contract suite, on a real etcd told the time by the test, or by a client that stalls.
 */
describe('etcd lock rules', () => {
  type Make = typeof etcdLocks;

  const ENDPOINT = endpointOf(process.env['ETCD_URL']!);
  const CASES = [...new Set(ETCD_LOCK_MUTANTS.map(({ by }) => by))];

  /** A store that refuses every write is given up soon. */
  const IMPATIENT = {
    file: 'rows/cas-retry.ts',
    find: 'const ATTEMPT_COUNT = 40;',
    put: 'const ATTEMPT_COUNT = 8;',
  };
  const AHEAD = 'is lost with its cluster, also where tokens are ahead of the time';

  async function aheadOfTime({ createStore, clockControl, lossControl }: SettableEtcdLocks) {
    const store = await createStore('ahead');
    const have = 2n ** 62n;
    const request = namedLock('a', { ttlMs: 60_000, longestMs: 60_000, have });
    while ((await store.acquire({ ...request, have })).status !== 'ok') {
      await clockControl!.advance(100_000);
    }
    const { lock, holder } = request;
    const [{ token }] = (await store.locks!()) as [LockRecord];
    await lossControl!.restart('ahead');
    const { status } = await store.extend({ lock, holder, token, ttlMs: 60_000 });
    return status === 'lost' && token > have ? 'good' : status;
  }

  /** What a case of the contract, or a client that stalls, says of it; `good` where it is kept. */
  async function said(make: Make, by: string): Promise<string> {
    if (by in STALLS) return stalls(ENDPOINT, make, by);
    const store = settableEtcdLocks(() => ENDPOINT, make);
    const cases = new Map<string, () => Promise<void>>();
    const test = (name: string, run: () => Promise<void>) => void cases.set(name, run);
    describeLockStore({ test, expect, ...store, leaveOut: ['untilReleased'] });
    try {
      if (by === AHEAD) return await aheadOfTime(store);
      return await cases.get(by)!().then(
        () => 'good',
        () => 'refused',
      );
    } finally {
      await store.end();
    }
  }

  describe('a lock in etcd', () => {
    it.each(CASES)('%s', async (by) => {
      expect(await said(etcdLocks, by)).toBe('good');
    });
  });

  describe('locks in etcd are seen to be wrong where', () => {
    it.each(ETCD_LOCK_MUTANTS)('$name', async ({ edits, by }) => {
      const broken = (await loadLibrary([...edits, IMPATIENT], 'stores/etcd/index.ts')) as {
        etcdLocks: Make;
      };
      expect(await said(broken.etcdLocks, by)).not.toBe('good');
    });
  });
});
