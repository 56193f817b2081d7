/**
 * A client of locks in etcd that read what it needs and stalls before it writes, through a gateway
 * that lets something else happen in between.
 */
import { randomUUID } from 'node:crypto';
import type { etcdLocks } from '../../lib/stores/etcd/index.js';
import { isSnowflakeError } from '../../lib/errors.js';
import type { HeldLock, LockStore } from '../../lib/lock/lock-store.js';
import { EtcdKeys } from '../stores/etcd-keys.js';
import { etcdProxy, type Handler } from '../stores/etcd-proxy.js';
import { heldIn, namedLock } from './store-locks.js';

type Make = typeof etcdLocks;

interface Stall {
  readonly keys: EtcdKeys;
  readonly stalled: LockStore;
  readonly other: LockStore;
  /** Runs once, when the stalled client is about to write what says so. */
  readonly before: (isWritten: Says, run: () => Promise<void>) => void;
  /** Changes the answer to such a write, once. */
  readonly instead: (isWritten: Says, answer: (body: string) => string) => void;
  /** From now on another leader answers. */
  readonly elect: () => void;
}

type Says = (body: string) => boolean;

const LONG = { ttlMs: 30_000, longestMs: 30_000 };
const grants = (body: string): boolean => body.includes('"lease"');
const deletes = (body: string): boolean => body.includes('request_delete_range');

/** What the stalled client is answered, or how the other one ends; each says `good` as it is. */
export const STALLS: Readonly<Record<string, (stall: Stall) => Promise<string>>> = {
  'is not granted by an attempt that stalled until everything was lost': async (stall) => {
    const { keys, stalled, other, before } = stall;
    before(grants, async () => {
      await keys.deleteAll();
      await other.acquire(namedLock('a', LONG));
    });
    const { status } = await stalled.acquire(namedLock('a', LONG));
    return status === 'wait' ? 'good' : status;
  },
  'is not granted by an attempt that stalled until another one held it': async (stall) => {
    const { stalled, other, before } = stall;
    before(grants, async () => void (await heldIn(other, namedLock('a', LONG))));
    const { status } = await stalled.acquire(namedLock('a', LONG));
    return status === 'held' ? 'good' : status;
  },
  'is not granted by an answer of another cluster': async ({ stalled, instead }) => {
    instead(grants, (body) => body.replace(/"cluster_id":"\d+"/, '"cluster_id":"7"'));
    const { status } = await stalled.acquire(namedLock('a', LONG)).catch((error: unknown) => {
      const isTold = isSnowflakeError(error) && error.code === 'STORE_UNAVAILABLE';
      return { status: isTold ? 'good' : 'another error' };
    });
    return status;
  },
  'is not extended by a holder that stalled until another one held it': async (stall) => {
    const held = await heldIn(stall.stalled, namedLock('a', LONG));
    stall.before(grants, async () => void (await handedOn(stall)));
    const { status } = await stall.stalled.extend({ ...held, ttlMs: 1000 });
    return status === 'lost' ? 'good' : status;
  },
  'is not released by a holder that stalled until another one held it': async (stall) => {
    const held = await heldIn(stall.stalled, namedLock('a', LONG));
    const next: HeldLock[] = [];
    stall.before(deletes, async () => void next.push(await handedOn(stall)));
    await stall.stalled.release(held);
    const { status } = await stall.other.extend({ ...next[0]!, ttlMs: 1000 });
    return status === 'ok' ? 'good' : status;
  },
  'is granted to nobody after an election, until those before have ended': async (stall) => {
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
  'is released through an election': async ({ keys, stalled, elect }) => {
    const held = await heldIn(stalled, namedLock('a', LONG));
    elect();
    await stalled.release(held);
    return (await keys.all()).has('locks/held/a') ? 'held' : 'good';
  },
};

function nextTerm(body: string): string {
  return body.replace(/"raft_term":"(\d+)"/, (_, term) => `"raft_term":"${Number(term) + 1}"`);
}

/** As if the time of the first holder were over. */
async function handedOn({ keys, other }: Stall): Promise<HeldLock> {
  await keys.delete('locks/held/a');
  return heldIn(other, namedLock('a', LONG));
}

export async function stalls(endpoint: string, make: Make, name: string): Promise<string> {
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
  const instead: Stall['instead'] = (isWritten, answer) =>
    once(isWritten, async ({ pass }) => {
      const passed = await pass();
      return { ...passed, body: answer(passed.body) };
    });
  try {
    // Of a namespace that is new nothing was forgotten.
    await stalled.acquire(namedLock('first', LONG));
    await keys.delete('locks/wait');
    const elect = (): void => {
      proxy.handler = async ({ pass }) => {
        const passed = await pass();
        return { ...passed, body: nextTerm(passed.body) };
      };
    };
    return await STALLS[name]!({ keys, stalled, other, before, instead, elect });
  } finally {
    await Promise.all([stalled.close!(), other.close!()]);
    await proxy.close();
  }
}
