/**
 * Counters in Redis rest on its append-only file, which an operator may switch off, on again and
 * sync less while processes run. Nothing is granted that a restart could forget.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import type { DenseTake } from '../../lib/counters/counter-store.js';
import { failureOf, RedisLab } from '../stores/redis-lab.js';
import { until, untilTime } from '../until.js';

const LOSS_WINDOW_MS = 2000;
const TAKE: DenseTake = {
  kind: 'dense',
  counter: 'c',
  count: 1n,
  have: 0n,
  skip: 10n,
  startAt: 1n,
  stores: '1/1',
};

const lab = new RedisLab();
const opened: RedisCounters[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});
afterAll(() => lab.end());

function countersAt(port: number, login = ''): RedisCounters {
  const store = new RedisCounters({ redis: `redis://${login}127.0.0.1:${port}` });
  opened.push(store);
  return store;
}

/** A Redis with a file, and a counter in it that grants. */
async function granting(...args: string[]) {
  const { port } = await lab.server(
    '--appendonly',
    'yes',
    '--enable-debug-command',
    'yes',
    ...args,
  );
  const store = countersAt(port);
  await until(async () => (await store.take(TAKE)).status === 'ok');
  return { admin: lab.client(port), store, port };
}

describe('counters in a Redis whose settings change', () => {
  it('grant nothing while the append-only file is off', async () => {
    const { admin, store } = await granting();
    await admin.config('SET', 'appendonly', 'no');
    const failure = await failureOf(store.take(TAKE));
    expect(failure).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: false,
      details: { refusal: 'not-durable' },
    });
    expect(failure.message).toMatch(/append-only file is off.*appendonly yes/s);
    await admin.config('SET', 'appendonly', 'yes');
    await until(async () => {
      const answer = await store.take(TAKE).catch(() => undefined);
      return answer?.status === 'ok';
    });
  });

  it('wait for a rewrite to end, which may be the first one of a file', async () => {
    const { admin, store } = await granting();
    await admin.call('DEBUG', 'POPULATE', 1000);
    // The rewrite then takes minutes, until it is ended below.
    await admin.config('SET', 'rdb-key-save-delay', '1000000');
    const timesOf = async () => {
      const [, , , readyMs, windowMs] = String(await admin.hget(store.key, 'c:c')).split('|');
      return { readyMs: Number(readyMs), windowMs: Number(windowMs) };
    };
    // Redis tells in whole seconds since when it rewrites, which may be up to two more than it was.
    const { readyMs } = await timesOf();
    await untilTime(readyMs + 3000);
    await admin.config('SET', 'appendonly', 'no');
    await admin.config('SET', 'appendonly', 'yes');
    try {
      // A new counter must be kept before it grants.
      const fresh = await store.take({ ...TAKE, counter: 'd' });
      expect(fresh.status === 'wait' && fresh.waitMs).toBeGreaterThan(LOSS_WINDOW_MS);
      // Of an old one half of the skip is granted, however long the rewrite takes.
      let answer = await store.take(TAKE);
      while (answer.status === 'ok') answer = await store.take(TAKE);
      const { windowMs } = await timesOf();
      const [seconds] = await admin.time();
      const leftMs = windowMs + LOSS_WINDOW_MS - Number(seconds) * 1000;
      expect(answer.status === 'wait' && answer.waitMs).toBeGreaterThanOrEqual(leftMs);
    } finally {
      await admin.config('SET', 'appendonly', 'no');
    }
  });

  it('grant nothing where a rewrite failed, until one has not', async () => {
    const { admin, store } = await granting();
    const [, folder] = (await admin.config('GET', 'dir')) as [string, string];
    rmSync(`${folder}/appendonlydir`, { recursive: true });
    // No folder can be made where a file is.
    writeFileSync(`${folder}/appendonlydir`, '');
    await expect(admin.bgrewriteaof()).rejects.toThrow(/AOF/);
    const failure = await failureOf(store.take(TAKE));
    expect(failure).toMatchObject({ retryable: true, details: { refusal: 'new-file' } });
    expect(failure.message).toMatch(/rewrite of the append-only file failed/);
  });

  it('grant nothing while the file is not synced', async () => {
    const { port } = await lab.server('--appendonly', 'yes', '--appendfsync', 'no');
    const admin = lab.client(port);
    const store = countersAt(port);
    const refused = { retryable: false, details: { refusal: 'not-synced' } };
    for (const call of [() => store.take(TAKE), () => store.create({ counter: 'c', start: 1n })]) {
      expect(await failureOf(call())).toMatchObject(refused);
    }
    expect(await admin.dbsize()).toBe(0);
    await admin.config('SET', 'appendfsync', 'everysec');
    await until(async () => (await store.take(TAKE)).status === 'ok');
    await admin.config('SET', 'appendfsync', 'no');
    expect(await failureOf(store.take(TAKE))).toMatchObject(refused);
  });

  it('believe what they may not ask, and look at what they may', async () => {
    const { admin, port } = await granting();
    await admin.call('ACL', 'SETUSER', 'few', 'on', '>secret', '~*', '+@all', '-config');
    const store = countersAt(port, 'few:secret@');
    await until(async () => (await store.take(TAKE)).status === 'ok');
    // The right comes back, and with it what it shows.
    await admin.config('SET', 'appendfsync', 'no');
    expect((await store.take(TAKE)).status).toBe('ok');
    await admin.call('ACL', 'SETUSER', 'few', '+config|get');
    expect(await failureOf(store.take(TAKE))).toMatchObject({
      details: { refusal: 'not-synced' },
    });
    await admin.config('SET', 'appendonly', 'no');
    await admin.config('SET', 'appendfsync', 'everysec');
    expect(await failureOf(store.take(TAKE))).toMatchObject({
      details: { refusal: 'not-durable' },
    });
  });
});
