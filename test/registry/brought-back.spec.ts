/**
 * An operator brings the clock of a registry back, whatever the fleet writes at the same time.
 */
import { expect, it } from '@jest/globals';
import type { LeaseGrant, LeaseRequest } from '../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { WalkStore } from './walk-store.js';

const TTL_MS = 10_000;
const BACK_MS = 60_000;

const request = (workerId: number): LeaseRequest => ({
  fingerprint: 'f',
  ttlMs: TTL_MS,
  minRangeMs: 0,
  quarantineMs: 0,
  token: `of ${workerId}`,
  nonce: 'n0',
  workerIdMin: workerId,
  workerIdMax: workerId,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
});

it.each([0, 1, 400, 999, 1000, 5000])('is done %d ms after the last write', async (sinceMs) => {
  const moment = { timeMs: 1_800_000_000_000, serverCount: 0 };
  const turn = () => Promise.resolve();
  const support = new RegistrySupport(
    new WalkStore({ moment, turn, fault: undefined, lossWindowMs: 0 }),
  );
  const nowMs = async (workerId: number) =>
    ((await support.getNextWorkId(request(workerId))) as LeaseGrant).nowMs!;
  await nowMs(0);
  moment.timeMs += 10 * TTL_MS;
  await nowMs(1);
  moment.timeMs -= BACK_MS;
  expect((await nowMs(2)) - moment.timeMs).toBe(BACK_MS);
  moment.timeMs += sinceMs;
  const mark = { incarnation: '', server: '', operations: 0 };
  const operator = { ...request(0), token: 'o', workerId: 0, nonceNext: 'o', mark, settles: true };
  await support.release(operator, undefined);
  expect(await nowMs(3)).toBe(moment.timeMs);
});
