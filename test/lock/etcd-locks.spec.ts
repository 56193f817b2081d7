/**
 * Locks in etcd satisfy the contract: once with leases, clock and cluster under the test's control,
 * and once by etcd's own clock; and while keys are corrupted, lost and restored.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { HeldLock, LockStore, LockRecord } from '../../lib/lock/lock-store.js';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import {
  EtcdKeys,
  endpointOf,
  etcdProxy,
  settableEtcd,
  wasRevoked,
  type Handler,
} from '../stores/etcd-lab.js';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';
import { type SettableLockStore, walkLocks, type WalkReport } from './settable-locks.js';
import { heldIn, namedLock, readySpaces } from './held-locks.js';
import { locksFromUrl } from '../../lib/stores/etcd/etcd-locks.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { ETCD_LOCK_MUTANTS } from '../mutants/etcd-lock-mutants.mjs';
import { loadLibrary } from '../mutants/load-library.mjs';
import { failureOf } from '../stores/redis-lab.js';

interface SettableEtcdLocks extends SettableLockStore {
  /** Closes everything opened since its last call. */
  end(): Promise<void>;
}

/** @param etcd the endpoint of a member @param make the locks, or a mutant of them */
function settableEtcdLocks(etcd: () => string, make = etcdLocks): SettableEtcdLocks {
  const { clockControl, lossControl, made, end } = settableEtcd<LockStore>(etcd);
  return {
    clockControl,
    lossControl,
    createStore: (name) =>
      made(name, (options) => make({ ...options, failoverWindowMs: LOSS_WINDOW_MS })),
    end,
  };
}

/*
 * A client of locks in etcd that stalls between its read and its write. Its gateway runs other
 * operations in between.
 */

type Make = typeof etcdLocks;

interface Stall {
  readonly keys: EtcdKeys;
  readonly stalled: LockStore;
  readonly other: LockStore;
  /** Runs once, when the stalled client is about to write the matching data. */
  readonly before: (isWritten: Says, run: () => Promise<void>) => void;
  /** Changes each answer from such a write on. */
  readonly instead: (isWritten: Says, answer: (body: string) => string) => void;
  /** From now on a different leader answers. */
  readonly elect: () => void;
}

type Says = (body: string) => boolean;

const LONG = { ttlMs: 30_000, longestMs: 30_000 };
const grants = (body: string): boolean => body.includes('"lease"');
const always = () => true;

/** The answer to the stalled client, or the result of the other one. A correct result is `good`. */
const STALLS: Readonly<Record<string, (stall: Stall) => Promise<string>>> = {
  'is not granted to an attempt that stalled until all data was lost': async (stall) => {
    const { keys, stalled, other, before } = stall;
    before(grants, async () => {
      await keys.deleteAll();
      await other.acquire(namedLock('a', LONG));
    });
    const { status } = await stalled.acquire(namedLock('a', LONG));
    return status === 'wait' ? 'good' : status;
  },
  'is not granted to an attempt that stalled until another one held it': async (stall) => {
    const { stalled, other, before } = stall;
    before(grants, async () => void (await heldIn(other, namedLock('a', LONG))));
    const { status } = await stalled.acquire(namedLock('a', LONG));
    return status === 'held' ? 'good' : status;
  },
  'is granted with the note of another holder during the stall': async (stall) => {
    const { stalled, other, before } = stall;
    before(grants, async () => {
      const held = await heldIn(other, namedLock('a', LONG));
      await other.extend({ ...held, ttlMs: 1000, note: 'done' });
      await other.release(held);
    });
    const answer = await stalled.acquire(namedLock('a', LONG));
    const isGood = answer.status === 'ok' && answer.note === 'done';
    return isGood ? 'good' : answer.status;
  },
  'is not granted by an answer of another cluster': async ({ stalled, instead }) => {
    instead(grants, (body) => body.replace(/"cluster_id":"\d+"/, '"cluster_id":"7"'));
    const { status } = await stalled.acquire(namedLock('a', LONG));
    return status === 'wait' ? 'good' : status;
  },
  'is not extended by a holder that stalled until another one held it': async (stall) => {
    const held = await heldIn(stall.stalled, namedLock('a', LONG));
    stall.before(grants, async () => void (await handedOn(stall)));
    const { status } = await stall.stalled.extend({ ...held, ttlMs: 1000, note: 'done' });
    return status === 'lost' ? 'good' : status;
  },
  'is not extended by a keep-alive alone': async (stall) => {
    const held = await heldIn(stall.stalled, namedLock('a', LONG));
    stall.before(always, async () => void (await handedOn(stall)));
    const { status } = await stall.stalled.extend({ ...held, ttlMs: 1000 });
    return status === 'lost' ? 'good' : status;
  },
  'outlives its lease of before an election, which the old leader may revoke late': async (
    stall,
  ) => {
    const { keys, stalled, elect } = stall;
    const held = await heldIn(stalled, namedLock('a', LONG));
    const key = Buffer.from(`${keys.prefix}locks/held/a`).toString('base64');
    const { kvs } = await keys.ask('kv/range', { key });
    elect();
    await stalled.extend({ ...held, ttlMs: 1000 });
    const [{ lease: ID }] = kvs as [{ lease: string }];
    await keys.ask('lease/revoke', { ID }).catch(wasRevoked);
    const { status } = await stalled.extend({ ...held, ttlMs: 1000 });
    return status === 'ok' ? 'good' : status;
  },
  'is not released by a holder that stalled until another one held it': async (stall) => {
    // The store remembers the first lease, and must read to release the second.
    const first = await heldIn(stall.stalled, namedLock('a', LONG));
    const second = await handedOn(stall);
    const third = await handedOn(stall);
    for (const held of [first, second]) await stall.stalled.release(held);
    const { status } = await stall.other.extend({ ...third, ttlMs: 1000 });
    return status === 'ok' ? 'good' : status;
  },
  'is granted to no caller after an election until earlier holders have ended': async (stall) => {
    const { stalled, elect } = stall;
    const request = namedLock('a', LONG);
    await heldIn(stalled, request);
    elect();
    const other = await stalled.acquire(namedLock('b', LONG));
    const same = await stalled.acquire(request);
    const isGood = other.status === 'wait' && same.status === 'wait';
    return isGood ? 'good' : `${other.status} ${same.status}`;
  },
  'stays with its holder through an election': async ({ stalled, elect }) => {
    const held = await heldIn(stalled, namedLock('a', LONG));
    elect();
    const { status } = await stalled.extend({ ...held, ttlMs: 1000 });
    return status === 'ok' ? 'good' : status;
  },
  'is released through an election': async ({ keys, stalled, other, elect }) => {
    const held = await heldIn(other, namedLock('a', LONG));
    elect();
    await stalled.release(held);
    return (await keys.all()).has('locks/held/a') ? 'held' : 'good';
  },
};

function nextTerm(body: string): string {
  return body.replace(/"raft_term":"(\d+)"/, (_, term) => `"raft_term":"${Number(term) + 1}"`);
}

/** Simulates the end of the first holder's time. */
async function handedOn({ keys, other }: Stall): Promise<HeldLock> {
  await keys.delete('locks/held/a');
  return heldIn(other, namedLock('a', LONG));
}

async function stalls(endpoint: string, make: Make, name: string): Promise<string> {
  const proxy = await etcdProxy(endpoint);
  const keys = new EtcdKeys(endpoint, randomUUID());
  const storeAt = (at: string) => make({ endpoints: [at], namespace: keys.namespace });
  const [stalled, other] = [storeAt(proxy.endpoint), storeAt(endpoint)];
  const once = (isWritten: Says, handler: Handler): void => {
    proxy.handler = async (call) => {
      if (call.path !== 'kv/txn' || !isWritten(call.body)) return call.pass();
      proxy.handler = ({ pass }) => pass();
      return handler(call);
    };
  };
  const before: Stall['before'] = (isWritten, run) =>
    once(isWritten, async ({ pass }) => {
      await run();
      return pass();
    });
  const instead: Stall['instead'] = (isWritten, answer) => {
    let isOther = false;
    proxy.handler = async ({ body, pass }) => {
      isOther ||= isWritten(body);
      const passed = await pass();
      return isOther ? { ...passed, body: answer(passed.body) } : passed;
    };
  };
  const elect = (): void => instead(always, nextTerm);
  try {
    // A new namespace has lost nothing.
    await stalled.acquire(namedLock('first', LONG));
    await keys.delete('locks/wait');
    return await STALLS[name]!({ keys, stalled, other, before, instead, elect });
  } finally {
    await Promise.all([stalled.close!(), other.close!()]);
    await proxy.close();
  }
}

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

  describe('etcdLocks with a test clock', () => {
    const store = settableEtcdLocks(() => ENDPOINT);
    afterEach(() => store.end());

    describeLockStore({ test: it, expect, leaveOut: ['steps', 'untilReleased'], ...store });
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
    it('ends at its time, and no earlier', async () => {
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

    it('is not granted from a corrupt key', async () => {
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

    it('stays with an attempt whose answer was lost, with the same token', async () => {
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

    it('is not granted to an attempt that stalled until all data was lost', async () => {
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

    it('is not lost if others write while its run begins', async () => {
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

    it('has two holders if the transaction does not compare what it read', async () => {
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

    it('closes at once although its watch has not begun', async () => {
      let begins = () => {};
      const isAsked = new Promise<void>((resolve) => (begins = resolve));
      const proxy = await etcdProxy(ENDPOINT, ({ path, pass }) => {
        if (path !== 'watch') return pass();
        begins();
        return new Promise(() => {});
      });
      const store = storeAt(proxy.endpoint, randomUUID());
      const { signal } = new AbortController();
      store.untilReleased!('a', 60_000, signal).catch(() => undefined);
      await isAsked;
      // The watch would end after the 60 s of a request.
      await expect(store.close!()).resolves.toBeUndefined();
      await proxy.close();
    }, 20_000);

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
 * Shows that the locks in etcd need each of their rules. A broken rule fails in the contract suite,
 * on a real etcd with the test's clock, or with a client that stalls.
 */
describe('etcd lock rules', () => {
  type Make = typeof etcdLocks;

  const ENDPOINT = endpointOf(process.env['ETCD_URL']!);
  const CASES = [...new Set([...Object.keys(STALLS), ...ETCD_LOCK_MUTANTS.map(({ by }) => by)])];

  /** The suite soon stops with a store that refuses every write. */
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

  /** The result of a contract case or a stalled client; `good` if it passes. */
  async function said(make: Make, by: string): Promise<string> {
    if (by in STALLS) return stalls(ENDPOINT, make, by);
    const store = settableEtcdLocks(() => ENDPOINT, make);
    const cases = new Map<string, () => Promise<void>>();
    const test = (name: string, run: () => Promise<void>) => void cases.set(name, run);
    describeLockStore({ test, expect, ...store, leaveOut: ['steps', 'untilReleased'] });
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

  describe('faulty rules of locks in etcd are detected', () => {
    it.each(ETCD_LOCK_MUTANTS)('$name', async ({ edits, by }) => {
      const broken = (await loadLibrary([...edits, IMPATIENT], 'stores/etcd/index.ts')) as {
        etcdLocks: Make;
      };
      expect(await said(broken.etcdLocks, by)).not.toBe('good');
    });
  });
});
