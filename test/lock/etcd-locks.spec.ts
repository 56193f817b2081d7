/**
 * Locks in etcd keep the contract: once with the leases, the clock and the cluster in the hands of
 * the test, once by etcd's own clock; and while keys are spoilt, lost and restored.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import { locksFromUrl } from '../../lib/stores/etcd/etcd-locks.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { EtcdKeys, endpointOf } from '../stores/etcd-keys.js';
import { etcdProxy } from '../stores/etcd-proxy.js';
import { failureOf } from '../stores/redis-lab.js';
import { heldIn, namedLock, readySpaces } from './store-locks.js';
import { walkLocks, type WalkReport } from './lock-walk.js';
import { settableEtcdLocks } from './settable-etcd-locks.js';

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
