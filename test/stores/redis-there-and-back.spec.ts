/**
 * Sentinel names another server and then the first one again, which only stood still: whoever comes
 * new is granted nothing there that the other one may have granted.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { redisCounters, redisLocks } from '../../lib/stores/redis/index.js';
import type { LeaseGrant } from '../../lib/lease/distributed-support.js';
import { RedisLab, request, until } from './redis-lab.js';

const lab = new RedisLab();
afterAll(() => lab.end());

const WINDOWS = { failoverWindowMs: 0, clockDifferenceMs: 0 };
const namespace = 'shop';
const take = { kind: 'dense', counter: 'order', count: 5n, have: 0n, skip: 1000n } as const;
const asked = { lock: 'order', label: 'one', ttlMs: 60_000, longestMs: 60_000, have: 0n };
const KEYS = ['registry', 'counters', 'locks'].map((what) => `snowflake:{${namespace}}:${what}`);

let first: { port: number; pid: number };
let redis: string;
let sentinel: Redis;
/** What the other one granted. */
let other: LeaseGrant;

const leadTo = (port: number) =>
  until(async () => {
    const address = await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster');
    return String(address).endsWith(`,${port}`);
  });

const stores = () => ({
  support: lab.support({ redis, namespace, ...WINDOWS }),
  counters: redisCounters({ redis, namespace, lossWindowMs: 0 }),
  locks: redisLocks({ redis, namespace, lossWindowMs: 0 }),
});

async function granted() {
  const { support, counters, locks } = stores();
  try {
    const lease = await support.getNextWorkId(request());
    const taken = await counters.take({ ...take, startAt: 1n });
    const lock = await locks.acquire({ ...asked, holder: 'newcomer' });
    return { lease, taken, lock };
  } finally {
    for (const store of [support, counters, locks]) await store.close?.();
  }
}

beforeAll(async () => {
  first = await lab.server();
  const second = await lab.server('--replicaof', '127.0.0.1', String(first.port));
  const patience = ['down-after-milliseconds mymaster 300', 'failover-timeout mymaster 300'];
  const watch = await lab.sentinel(first.port, ...patience.map((line) => `sentinel ${line}`));
  sentinel = lab.client(watch.port);
  redis = `redis+sentinel://127.0.0.1:${watch.port}/mymaster`;
  const replica = lab.client(second.port);
  await granted();
  await until(async () => {
    const replicas = String(await sentinel.call('SENTINEL', 'REPLICAS', 'mymaster'));
    const copied = await replica.exists(...KEYS);
    return replicas.includes('master-link-status,ok') && copied === 3;
  });
  process.kill(first.pid, 'SIGSTOP');
  await leadTo(second.port);
  other = (await granted()).lease as LeaseGrant;
  await second.stop();
  process.kill(first.pid, 'SIGCONT');
  await leadTo(first.port);
}, 60_000);

it('notes that the server was left, for whoever asks it first', async () => {
  const server = lab.client(first.port);
  const eras = () => Promise.all(KEYS.map((key) => server.hget(key, 'era')));
  const erasBefore = await eras();
  const { lease, taken, lock } = await granted();
  expect((lease as LeaseGrant).floorMs).toBeGreaterThanOrEqual(other.ceilingMs);
  // Twice: the jump of the other one, from the same position, landed where a single one does.
  expect(taken).toMatchObject({ status: 'ok', first: 2006n });
  expect(lock).toMatchObject({ status: 'wait' });
  expect(await eras()).not.toEqual(erasBefore);
  const erasAfter = await eras();
  await granted();
  expect(await eras()).toEqual(erasAfter);
});
