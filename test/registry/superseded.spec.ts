/**
 * An operation that nobody waits for any more: its caller gave up and asked again.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { turn } from '../../lib/time/timers.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import type { RowStore } from '../../lib/rows/row-store.js';
import { MapStore } from './map-store.js';

const TERMS = { fingerprint: 'f', ttlMs: 10_000, minRangeMs: 50, quarantineMs: 0 };
const REQUEST: LeaseRequest = {
  ...TERMS,
  token: 'mine',
  nonce: 'n0',
  workerIdMin: 0,
  workerIdMax: 0,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
};

async function setUp() {
  const moment = { timeMs: 1_800_000_000_000, server: 'one' };
  const rows = new MapStore(moment);
  await new RegistrySupport(rows).getNextWorkId(REQUEST);
  moment.timeMs += 20_000;
  const grant = (await new RegistrySupport(rows).getNextWorkId(REQUEST)) as LeaseGrant;
  let isBusy = false;
  let isSlow = false;
  const waiting: (() => void)[] = [];
  const store: RowStore = {
    location: 'a busy store',
    lossWindowMs: 0,
    async read(question) {
      if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
      return rows.read(question);
    },
    readAll: () => rows.readAll(),
    write: async (write) => !isBusy && rows.write(write),
  };
  const after = (_: number, run: () => void) => waiting.push(run);
  const timers = { after, every: after, cancel: () => undefined };
  const { workerId, ceilingMs: haveMs, mark } = grant;
  const lease: WorkerLease = { ...REQUEST, workerId, haveMs, mark: mark!, nonceNext: 'n1' };
  return {
    support: new RegistrySupport(store, { timers }),
    lease,
    setBusy: (value: boolean) => void (isBusy = value),
    setSlow: (value: boolean) => void (isSlow = value),
    /** Whoever waits between two tries, or for an answer, goes on. */
    wake: async () => {
      await turn();
      for (const run of waiting.splice(0)) run();
      await turn();
    },
  };
}

describe('an operation that was asked for again', () => {
  it('does not take the holder for a copy of itself when it comes later', async () => {
    const { support, lease, setBusy, wake } = await setUp();
    setBusy(true);
    const late = support.refreshAlive(lease).catch((error: unknown) => error);
    await turn();
    setBusy(false);
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
    const second = { ...lease, nonce: 'n1', nonceNext: 'n2' };
    expect(await support.refreshAlive(second)).toMatchObject({ status: 'ok' });
    await wake();
    expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    const third = { ...lease, nonce: 'n2', nonceNext: 'n3' };
    expect(await support.refreshAlive(third)).toMatchObject({ status: 'ok' });
  });

  it('does not take the holder for a copy where the store was asked late', async () => {
    const { support, lease, setSlow, wake } = await setUp();
    setSlow(true);
    const late = support.refreshAlive(lease).catch((error: unknown) => error);
    await turn();
    setSlow(false);
    await support.refreshAlive(lease);
    await support.refreshAlive({ ...lease, nonce: 'n1', nonceNext: 'n2' });
    await wake();
    expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    const third = { ...lease, nonce: 'n2', nonceNext: 'n3' };
    expect(await support.refreshAlive(third)).toMatchObject({ status: 'ok' });
  });

  it('does not raise the ceiling of a lease that was given back since', async () => {
    const { support, lease, setBusy, wake } = await setUp();
    setBusy(true);
    const late = support.refreshAlive(lease).catch((error: unknown) => error);
    await turn();
    setBusy(false);
    await support.release(lease, undefined);
    const [given] = await support.workers();
    await wake();
    await late;
    expect((await support.workers())[0]).toMatchObject({ ceilingMs: given!.ceilingMs });
  });
});
