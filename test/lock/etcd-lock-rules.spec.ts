/**
 * The locks in etcd are seen to need each of their rules: one that is broken is noticed by the
 * contract suite, on a real etcd told the time by the test, or by a client that stalls.
 */
import { describe, expect, it } from '@jest/globals';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import type { LockRecord } from '../../lib/lock/lock-store.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { endpointOf } from '../stores/etcd-keys.js';
import { ETCD_LOCK_MUTANTS } from '../mutants/etcd-lock-mutants.mjs';
import { loadLibrary } from '../mutants/load-library.mjs';
import { settableEtcdLocks, type SettableEtcdLocks } from './settable-etcd-locks.js';
import { STALLS, stalls } from './stalled-etcd.js';
import { namedLock } from './store-locks.js';

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
