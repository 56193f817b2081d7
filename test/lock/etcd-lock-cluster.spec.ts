/**
 * Locks in an etcd with three members. While its leader is killed, each lock has at most one
 * holder, and holders keep their locks. A restored etcd grants nothing until earlier holders have
 * ended.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import { isSnowflakeError } from '../../lib/errors.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { EtcdCluster } from '../chaos/stores/etcd.mjs';
import { heldIn, namedLock } from './held-locks.js';
import { walkLocks, type WalkReport } from './settable-locks.js';

const LONG = { ttlMs: 6000, longestMs: 6000 };
const cluster = new EtcdCluster();
const opened: LockStore[] = [];

beforeAll(() => cluster.create());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close!()));
});
afterAll(() => cluster.stop());

/** Each process starts with a different member. */
function storesOf(namespace: string, count: number, { members } = cluster): LockStore[] {
  return Array.from({ length: count }, (_, at) => {
    const all = members.map(({ port }) => `http://127.0.0.1:${port}`);
    const first = at % members.length;
    const endpoints = [...all.slice(first), ...all.slice(0, first)];
    const store = etcdLocks({ endpoints, namespace });
    opened.push(store);
    return store;
  });
}

/** Like a holder whose store is unavailable. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isSnowflakeError(error)) throw error;
      // The pace of a holder that tries again.
      await sleep(100);
    }
  }
}

describe('locks on three members', () => {
  it('stay with their holder when the leader is killed', async () => {
    const [store, other] = storesOf(randomUUID(), 2) as [LockStore, LockStore];
    const held = await heldIn(store, namedLock('a', LONG));
    const leader = await cluster.leader();
    await cluster.kill(leader);
    const answer = await answered(() => store.extend({ ...held, ttlMs: LONG.ttlMs }));
    expect(answer).toMatchObject({ status: 'ok', token: held.token, era: 1 });
    expect(await answered(() => other.acquire(namedLock('a', LONG)))).toMatchObject({
      status: 'held',
    });
    expect(await store.locks!()).toMatchObject([{ lock: 'a', token: held.token }]);
    await cluster.start(leader);
    // The new leader may lack earlier grants, so it treats no absent lock as free.
    expect(await other.acquire(namedLock('b', LONG))).toMatchObject({ status: 'wait' });
    await store.release(held);
    expect((await heldIn(other, namedLock('a', LONG))).token > held.token).toBe(true);
  });

  it('stay with their holder when the leader is stopped for longer than their time', async () => {
    const [store, other] = storesOf(randomUUID(), 2) as [LockStore, LockStore];
    const held = await heldIn(store, namedLock('a', LONG));
    const { pid } = cluster.running.get((await cluster.leader()).name)!;
    const statuses = new Set<string>();
    const extendFor = async (ms: number) => {
      for (const since = performance.now(); performance.now() - since < ms;) {
        const extended = answered(() => store.extend({ ...held, ttlMs: LONG.ttlMs }));
        statuses.add((await extended).status);
        // The pace of a holder that extends.
        await sleep(500);
      }
    };
    process.kill(pid, 'SIGSTOP');
    try {
      await extendFor(LONG.ttlMs + 2000);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    // The old leader revokes late what has ended by its own clock.
    await extendFor(3000);
    statuses.add((await answered(() => other.acquire(namedLock('a', LONG)))).status);
    expect([...statuses]).toEqual(['ok', 'held']);
  });

  it('have one holder each, even while leaders are killed', async () => {
    const stores = storesOf(randomUUID(), 6);
    const killing = (async () => {
      for (let count = 0; count < 2; count++) {
        // By then locks are held, and the last leader is back.
        await sleep(4000);
        const leader = await cluster.leader();
        await cluster.kill(leader);
        // In the meantime, the others elect a leader.
        await sleep(2000);
        await cluster.start(leader);
      }
    })();
    const pace = { clientCount: 24, lockCount: 4, ttlMs: 2000, lastsMs: 16_000, seed: 11 };
    const isEnough = (seen: WalkReport) => seen.grantCount > 20 && seen.extendedCount > 5;
    const report = await walkLocks({ ...pace, stores, isEnough });
    await killing;
    // A call may or may not fail, since another member may answer it in time.
    expect([report.twoHolders, report.fallenTokens]).toEqual([[], []]);
  });

  it('are lost with an older copy, and granted once earlier holders have ended', async () => {
    const [store, other] = storesOf(randomUUID(), 2) as [LockStore, LockStore];
    const short = { ttlMs: 3000, longestMs: 3000 };
    await store.release(await heldIn(store, namedLock('first', short)));
    await cluster.save();
    const held = await heldIn(store, namedLock('a', short));
    await cluster.restore();
    const answer = await answered(() => store.extend({ ...held, ttlMs: 3000 }));
    expect(answer).toEqual({ status: 'lost' });
    const next = await other.acquire(namedLock('a', short));
    expect(next.status).toBe('wait');
    expect((await heldIn(other, namedLock('a', short))).token > held.token).toBe(true);
  });
});

describe.each([1, 3])('locks on %d member(s) whose folders are restored', (memberCount) => {
  const own = new EtcdCluster();
  beforeAll(() => own.create(memberCount));
  afterAll(() => own.stop());

  it('are granted to no new caller until earlier holders have ended', async () => {
    const short = { ttlMs: 3000, longestMs: 3000 };
    const [store, stranger] = storesOf(randomUUID(), 2, own) as [LockStore, LockStore];
    const old = namedLock('b', short);
    const released = await heldIn(store, old);
    await own.copyFolders();
    await answered(() => store.release(released));
    const held = await heldIn(store, namedLock('a', short));
    await heldIn(store, namedLock('b', short));
    await own.restore();
    // The store lacks the last holder, and still has the one before.
    for (const request of [namedLock('a', short), old]) {
      expect(await answered(() => stranger.acquire(request))).toMatchObject({ status: 'wait' });
    }
    expect(await store.extend({ ...held, ttlMs: 3000 })).toEqual({ status: 'lost' });
    expect((await heldIn(stranger, namedLock('a', short))).token > held.token).toBe(true);
  });
});
