/**
 * A header that is written long after it was read: what others were told since is not taken back.
 */
import { expect, it } from '@jest/globals';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import type { RowStore } from '../../lib/rows/row-store.js';
import { TIME_IS_KEPT, keptTimeIn } from './kept-time.js';
import { WalkStore, type StoreFault } from './walk-store.js';

const TTL_MS = 10_000;

function setUp(fault?: StoreFault) {
  const moment = { timeMs: 1_800_000_000_000, serverCount: 0 };
  const turn = () => Promise.resolve();
  return { moment, store: new WalkStore({ moment, turn, fault, lossWindowMs: 0 }) };
}

const request = (workerId: number): LeaseRequest => ({
  fingerprint: 'f',
  ttlMs: TTL_MS,
  minRangeMs: 50,
  quarantineMs: 0,
  token: `of ${workerId}`,
  nonce: 'n0',
  workerIdMin: workerId,
  workerIdMax: workerId,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
});

function leaseOf(asked: LeaseRequest, grant: LeaseGrant): WorkerLease {
  const { workerId, ceilingMs: haveMs, mark } = grant;
  return { ...asked, workerId, haveMs, mark: mark!, nonceNext: 'n1' };
}

/** Whether the next holder of a worker id whose row was deleted begins before the last one ends. */
async function overlaps(fault?: StoreFault): Promise<boolean> {
  const { moment, store } = setUp(fault);
  const support = new RegistrySupport(store);
  const acquire = async (workerId: number) =>
    (await support.getNextWorkId(request(workerId))) as LeaseGrant;
  await acquire(0);
  moment.timeMs += 2 * TTL_MS;
  const first = leaseOf(request(0), await acquire(0));
  let second = leaseOf(request(1), await acquire(1));

  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  let stands: () => void = () => undefined;
  const standing = new Promise<void>((resolve) => (stands = resolve));
  const late: RowStore = {
    location: store.location,
    lossWindowMs: 0,
    read: (question) => store.read(question),
    readAll: () => store.readAll(),
    async write(write) {
      stands();
      await gate;
      return store.write(write);
    },
  };
  store.remove((key) => key === '0');
  const noted = new RegistrySupport(late).refreshAlive(first);
  await standing;
  for (let n = 0; n < 60; n++) {
    moment.timeMs += 1000;
    const { ceilingMs: haveMs, mark } = (await support.refreshAlive(second)) as LeaseGrant;
    const { nonceNext: nonce } = second;
    second = { ...second, haveMs, mark: mark!, nonce, nonceNext: `m${n}` };
  }
  store.remove((key) => key === '1');
  goOn();
  await noted;
  const answer = await support.getNextWorkId({ ...request(1), token: 'next' });
  return answer.status === 'ok' && answer.floorMs < second.haveMs;
}

it('is refused where its time has gone on, so that no range is forgotten', async () => {
  expect(await overlaps()).toBe(false);
});

it('would let two ranges overlap in a store that does not compare the time', async () => {
  expect(await overlaps('header time')).toBe(true);
});

it('is compared by a store that keeps its version where the time alone is new', async () => {
  expect(await keptTimeIn(setUp().store)).toEqual(TIME_IS_KEPT);
});
