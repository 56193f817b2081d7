/**
 * Locks in an etcd that is real, through a gateway in which leases go by the time of the test: it
 * asks for long ones, and ends each when its time is over. Its clock and its cluster are in the
 * hands of the test as well.
 */
import { randomUUID } from 'node:crypto';
import { isSnowflakeError } from '../../lib/errors.js';
import type { HeldLock, LockStore } from '../../lib/lock/lock-store.js';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import {
  EtcdKeys,
  etcdProxy,
  settableEtcd,
  type Handler,
  type ProxyCall,
} from '../stores/etcd-lab.js';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';
import type { LockBenchStore } from './settable-locks.js';
import { heldIn, namedLock } from './held-locks.js';

const LONG_S = '100000';

export interface SettableEtcdLocks extends LockBenchStore {
  /** Closes what was opened since it was called last. */
  end(): Promise<void>;
}

/** When each lease ends, by a clock that never goes back. */
class SettableLeases {
  steadyMs = 0;
  private readonly ends = new Map<string, number>();

  granted(id: string, seconds: number): void {
    this.ends.set(id, this.steadyMs + seconds * 1000);
  }

  /** As etcd tells it, but for the milliseconds. */
  leftText(id: string): string {
    const leftMs = (this.ends.get(id) ?? -Infinity) - this.steadyMs;
    return leftMs > 0 ? (leftMs / 1000).toFixed(3) : '-1';
  }

  over(): string[] {
    const ended = [...this.ends].filter(([, endMs]) => endMs <= this.steadyMs).map(([id]) => id);
    for (const id of ended) this.ends.delete(id);
    return ended;
  }
}

/** @param etcd the endpoint of a member @param make the locks as they are, or a mutant of them */
export function settableEtcdLocks(etcd: () => string, make = etcdLocks): SettableEtcdLocks {
  const leases = new SettableLeases();
  const { clockControl, lossControl, made, end } = settableEtcd<LockStore>(etcd, (call) =>
    withLeases(call, leases),
  );
  return {
    clockControl: {
      now: clockControl.now,
      async advance(ms) {
        clockControl.advance(ms);
        leases.steadyMs += Math.max(0, ms);
        const keys = new EtcdKeys(etcd(), 'none');
        for (const ID of leases.over()) await keys.ask('lease/revoke', { ID }).catch(wasRevoked);
      },
    },
    createStore: (name) =>
      made(name, (options) => make({ ...options, failoverWindowMs: LOSS_WINDOW_MS })),
    lossControl,
    end,
  };
}

/** Those that the store has given up are gone already. */
function wasRevoked(error: unknown): void {
  if (!String(error).includes('lease not found')) throw error;
}

async function withLeases({ path, body, pass }: ProxyCall, leases: SettableLeases) {
  if (path === 'lease/grant') {
    const { TTL } = JSON.parse(body) as { TTL: string };
    const passed = await pass(JSON.stringify({ TTL: LONG_S }));
    leases.granted((JSON.parse(passed.body) as { ID: string }).ID, Number(TTL));
    return { ...passed, body: passed.body.replace(`"TTL":"${LONG_S}"`, `"TTL":"${TTL}"`) };
  }
  const passed = await pass();
  if (path !== 'lease/timetolive') return passed;
  const { ID } = JSON.parse(body) as { ID: string };
  return {
    ...passed,
    body: passed.body.replace(/"TTL":"-?\d+"/, `"TTL":"${leases.leftText(ID)}"`),
  };
}

/*
 * A client of locks in etcd that read what it needs and stalls before it writes, through a gateway
 * that lets something else happen in between.
 */

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
