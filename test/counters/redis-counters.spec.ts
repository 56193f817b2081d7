/**
 * Counters in Redis keep the contract: once with the time and the server in the hands of the test,
 * once by Redis' own clock; and a Redis that may lose everything is refused.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { countersFromUrl } from '../../lib/stores/redis/redis-counters.js';
import { describeCounterStore } from '../../lib/testing/index.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { failureOf, RedisLab } from '../stores/redis-lab.js';
import { codeOf } from '../code-of.js';
import { until } from '../until.js';
import { redisCounterStore } from './timed-counters.js';

const opened: RedisCounters[] = [];
let redis: Redis;
beforeAll(() => {
  redis = new Redis(process.env['REDIS_URL']!);
});
afterAll(() => redis.quit());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

function countersOf(options: Partial<ConstructorParameters<typeof RedisCounters>[0]>) {
  const store = new RedisCounters({ redis: process.env['REDIS_URL']!, ...options });
  opened.push(store);
  return store;
}

describe('RedisCounters, told the time by the test', () => {
  describeCounterStore({ test: it, expect, ...redisCounterStore(() => redis, opened) });
});

describe('RedisCounters', () => {
  const prefix = `${randomUUID()}:`;

  describeCounterStore({
    test: it,
    expect,
    createStore: (namespace) => countersOf({ namespace, prefix, lossWindowMs: 20 }),
    leaveOut: ['clock', 'losses'],
  });
});

describe('a Redis without an append-only file', () => {
  const take = {
    kind: 'dense',
    counter: 'c',
    count: 1n,
    have: 0n,
    skip: 10n,
    startAt: 1n,
  } as const;
  const lab = new RedisLab();
  afterAll(() => lab.end());

  it('is refused before anything is stored, unless somebody says what it loses', async () => {
    const { port } = await lab.server('--appendonly', 'no');
    const url = `redis://127.0.0.1:${port}`;
    const store = countersOf({ redis: url });
    for (const call of [() => store.take(take), () => store.create({ counter: 'c', start: 1n })]) {
      const failure = await failureOf(call());
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(failure.message).toMatch(/append-only file is off.*appendonly yes.*lossWindowMs/s);
    }
    const admin = lab.client(port);
    expect(await admin.dbsize()).toBe(0);

    const told = countersOf({ redis: url, lossWindowMs: 0 });
    expect(await told.take(take)).toMatchObject({ status: 'ok', first: 1n });
    expect(await told.advice()).toEqual([
      expect.stringMatching(/append-only file of Redis is off/),
    ]);

    // Switched on, the same store goes on.
    await admin.config('SET', 'appendonly', 'yes');
    expect(await store.take(take)).toMatchObject({ status: expect.stringMatching(/ok|wait/) });
    expect(await store.advice()).toEqual([]);
  });

  it('is not believed about its server where INFO is forbidden', async () => {
    const { port } = await lab.server('--appendonly', 'yes');
    const admin = lab.client(port);
    await admin.call('ACL', 'SETUSER', 'counter', 'on', '>secret', '~*', '+@all', '-info');
    const store = countersOf({ redis: `redis://counter:secret@127.0.0.1:${port}` });
    const failure = await failureOf(store.take(take));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
    expect(failure.message).toMatch(/INFO/);
  });

  it('loses no number by a restart with the file, and notices the restart', async () => {
    const folder = mkdtempSync(`${tmpdir()}/snowflake-counters-`);
    const args = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'];
    const before = await startRedis({ args });
    const store = countersOf({ redis: before.url, lossWindowMs: 0 });
    expect(await store.take(take)).toMatchObject({ status: 'ok', first: 1n, end: 2n, era: 1 });
    await before.stop();
    const { port } = before;
    const after = await startRedis({ port, args });
    try {
      // Another server for all the store knows: above the file by `skip`, under a new era.
      const { skip } = take;
      const have = 2n;
      const again = { ...take, have };
      let answer: Awaited<ReturnType<typeof store.take>> | undefined;
      await until(async () => {
        answer = await store.take(again).catch(() => undefined);
        return answer?.status === 'ok';
      });
      expect(answer).toMatchObject({ status: 'ok', first: have + skip, era: 2 });
    } finally {
      await after.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('redisCounters options', () => {
  it('come from a URL', async () => {
    const url = `${process.env['REDIS_URL']!}?namespace=u-${randomUUID()}&lossWindowMs=0`;
    const store = countersFromUrl(url);
    opened.push(store);
    expect(store.lossWindowMs).toBe(0);
    expect(await store.create({ counter: 'order', start: 5n })).toBe(true);
  });

  it('have loss windows that fit the kind of server', () => {
    expect(countersOf({ redis: 'redis://localhost' }).lossWindowMs).toBe(2000);
    const sentinel = countersOf({ redis: 'redis+sentinel://localhost/mymaster' });
    expect(sentinel.lossWindowMs).toBe(18_000);
  });

  it('are refused where they cannot be meant so', () => {
    expect(codeOf(() => countersOf({ namespace: 'a b' }))).toBe('CONFIG_INVALID');
    expect(codeOf(() => countersOf({ lossWindowMs: -1 }))).toBe('CONFIG_INVALID');
    expect(codeOf(() => countersFromUrl('redis://localhost?name=x'))).toBe('CONFIG_INVALID');
  });
});
