/**
 * Counters in Redis pass the contract: once with time and server set by the test, and once by
 * Redis's own clock. A Redis that may lose everything is rejected.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import Database from 'libsql';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { Pool as PostgresPool } from 'pg';
import type { DenseTake } from '../../lib/counters/counter-store.js';
import type { RowCounters } from '../../lib/counters/row-counters.js';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { countersFromUrl } from '../../lib/stores/redis/redis-counters.js';
import { registryTable, sqlCounters } from '../../lib/stores/sql/index.js';
import { describeCounterStore } from '../../lib/testing/index.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { MariadbNode } from '../chaos/stores/mariadb.mjs';
import { PostgresNode } from '../chaos/stores/postgres.mjs';
import { until, untilTime } from '../until.js';
import { failureOf, RedisLab } from '../stores/redis-lab.js';
import { redisCounterStore } from './settable-counters.js';

describe('redis counters', () => {
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

  describe('RedisCounters with a test clock', () => {
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
      lossGap: 10n,
      startAt: 1n,
    } as const;
    const lab = new RedisLab();
    afterAll(() => lab.end());

    it('is refused before anything is stored, unless lossGap is set', async () => {
      const { port } = await lab.server('--appendonly', 'no');
      const url = `redis://127.0.0.1:${port}`;
      const store = countersOf({ redis: url });
      for (const call of [
        () => store.take(take),
        () => store.create({ counter: 'c', start: 1n }),
      ]) {
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

      // After persistence is turned on, the same store continues.
      await admin.config('SET', 'appendonly', 'yes');
      expect(await store.take(take)).toMatchObject({ status: expect.stringMatching(/ok|wait/) });
      expect(await store.advice()).toEqual([]);
    });

    it('is not trusted about its server if INFO is forbidden', async () => {
      const { port } = await lab.server('--appendonly', 'yes');
      const admin = lab.client(port);
      await admin.call('ACL', 'SETUSER', 'counter', 'on', '>secret', '~*', '+@all', '-info');
      const store = countersOf({ redis: `redis://counter:secret@127.0.0.1:${port}` });
      const failure = await failureOf(store.take(take));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(failure.message).toMatch(/INFO/);
    });

    it('loses no number after a restart with the file, and detects the restart', async () => {
      const folder = mkdtempSync(`${tmpdir()}/snowflake-counters-`);
      const args = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'];
      await using before = await startRedis({ args });
      const store = countersOf({ redis: before.url, lossWindowMs: 0 });
      expect(await store.take(take)).toMatchObject({ status: 'ok', first: 1n, end: 2n, era: 1 });
      await before.stop();
      const { port } = before;
      await using _after = await startRedis({ port, args });
      try {
        // To the store this is another server, so it continues above the file by `lossGap`, in a
        // new era.
        const { lossGap } = take;
        const have = 2n;
        const again = { ...take, have };
        let answer: Awaited<ReturnType<typeof store.take>> | undefined;
        await until(async () => {
          answer = await store.take(again).catch(() => undefined);
          return answer?.status === 'ok';
        });
        expect(answer).toMatchObject({ status: 'ok', first: have + lossGap, era: 2 });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });

  describe('redisCounters options', () => {
    it('can be given in a URL', async () => {
      const url = `${process.env['REDIS_URL']!}?namespace=u-${randomUUID()}&lossWindowMs=0`;
      const store = countersFromUrl(url);
      opened.push(store);
      expect(store.lossWindowMs).toBe(0);
      expect(await store.create({ counter: 'order', start: 5n })).toBe(true);
    });

    it('set loss windows that fit the kind of server', () => {
      expect(countersOf({ redis: 'redis://localhost' }).lossWindowMs).toBe(2000);
      const sentinel = countersOf({ redis: 'redis+sentinel://localhost/mymaster' });
      expect(sentinel.lossWindowMs).toBe(18_000);
    });
  });
});

/*
 * Counters in Redis depend on its append-only file. An operator may turn it off, turn it on again,
 * or sync it less often while processes run. The store grants no position that a restart could
 * lose.
 */
describe('redis file', () => {
  const LOSS_WINDOW_MS = 2000;
  const TAKE: DenseTake = {
    kind: 'dense',
    counter: 'c',
    count: 1n,
    have: 0n,
    lossGap: 10n,
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

  /** A Redis with a file, and with a counter that grants. */
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

    it('wait for a rewrite to end, even the first one of a file', async () => {
      const { admin, store } = await granting();
      await admin.call('DEBUG', 'POPULATE', 1000);
      // The rewrite would take minutes; the test ends it below.
      await admin.config('SET', 'rdb-key-save-delay', '1000000');
      const timesOf = async () => {
        const [, , , readyMs, windowMs] = String(await admin.hget(store.key, 'c:c')).split('|');
        return { readyMs: Number(readyMs), windowMs: Number(windowMs) };
      };
      // Redis reports the duration of a rewrite in whole seconds, up to two seconds too high.
      const { readyMs } = await timesOf();
      await untilTime(readyMs + 3000);
      await admin.config('SET', 'appendonly', 'no');
      await admin.config('SET', 'appendonly', 'yes');
      try {
        // A new counter must be in the file before it grants.
        const fresh = await store.take({ ...TAKE, counter: 'd' });
        expect(fresh.status === 'wait' && fresh.waitMs).toBeGreaterThan(LOSS_WINDOW_MS);
        // An existing counter grants half of the loss gap, however long the rewrite takes.
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

    it('grant half of the loss gap, even after interrupted first rewrites', async () => {
      const { admin, store } = await granting();
      await admin.call('DEBUG', 'POPULATE', 1000);
      await admin.config('SET', 'rdb-key-save-delay', '1000000');
      const used = async () => {
        let answer = await store.take(TAKE);
        while (answer.status === 'ok') answer = await store.take(TAKE);
      };
      /** Until a window that began now is over, by the whole seconds that Redis reports. */
      const window = () => untilTime(Date.now() + LOSS_WINDOW_MS + 2500);
      try {
        await window();
        for (let count = 0; count < 2; count++) {
          await used();
          await window();
          await admin.config('SET', 'appendonly', 'no');
          await admin.config('SET', 'appendonly', 'yes');
        }
        // A crash would restore the file from before it was first turned off.
        expect(await store.take(TAKE)).toMatchObject({ status: 'wait' });
      } finally {
        await admin.config('SET', 'appendonly', 'no');
      }
    }, 60_000);

    it('grant nothing after a failed rewrite, until one succeeds', async () => {
      const { admin, store } = await granting();
      const [, folder] = (await admin.config('GET', 'dir')) as [string, string];
      rmSync(`${folder}/appendonlydir`, { recursive: true });
      // A file at this path makes it impossible to create a folder.
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
      for (const call of [
        () => store.take(TAKE),
        () => store.create({ counter: 'c', start: 1n }),
      ]) {
        expect(await failureOf(call())).toMatchObject(refused);
      }
      expect(await admin.dbsize()).toBe(0);
      await admin.config('SET', 'appendfsync', 'everysec');
      await until(async () => (await store.take(TAKE)).status === 'ok');
      await admin.config('SET', 'appendfsync', 'no');
      expect(await failureOf(store.take(TAKE))).toMatchObject(refused);
    });

    it('trust hidden settings, and check readable ones', async () => {
      const { admin, port } = await granting();
      await admin.call('ACL', 'SETUSER', 'few', 'on', '>secret', '~*', '+@all', '-config');
      const store = countersAt(port, 'few:secret@');
      await until(async () => (await store.take(TAKE)).status === 'ok');
      // The permission returns, and the settings are visible again.
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
});

/*
 * A database whose settings change while processes count. Positions that a crash could lose are
 * refused, or count as a loss of data, from the next take on.
 */
describe('changed settings', () => {
  const COUNTER = 'c';
  const LOSS_GAP = 100_000n;
  const TAKE = {
    kind: 'dense',
    counter: COUNTER,
    count: 10n,
    lossGap: LOSS_GAP,
    startAt: 1n,
  } as const;
  /** Longer than a second, after which MariaDB flushes all commits. */
  const WINDOW_MS = 1500;

  /** The next ten positions, however long the store requires a wait. */
  async function taken(store: RowCounters): Promise<{ first: bigint; end: bigint }> {
    for (;;) {
      const answer = await store.take({ ...TAKE, have: 0n });
      if (answer.status === 'ok') return answer;
      expect(answer.status).toBe('wait');
    }
  }

  describe.each([
    ['with a binary log', ['--log-bin', '--sync-binlog=1']],
    ['without one', []],
  ])('MariaDB %s', (_what, more) => {
    const node = new MariadbNode();
    let pool: MysqlPool;
    const open = () =>
      createPool({ host: '127.0.0.1', port: node.port, user: 'root', database: 'test' });
    const counters = (options: object) => sqlCounters({ pool, dialect: 'mysql', ...options });
    const set = (text: string) => node.sql(`SET GLOBAL ${text}`);

    beforeAll(async () => {
      await node.create(['--innodb-flush-log-at-trx-commit=1', ...more]);
      pool = open();
    });
    beforeEach(async () => {
      await set('innodb_flush_log_at_trx_commit = 1');
      await set('sync_binlog = 1');
      await pool.query('DROP TABLE IF EXISTS snowflake_registry');
      await pool.query(registryTable('mysql'));
    });
    afterAll(async () => {
      await pool.end();
      await node.stop();
    });

    const durable = ['innodb_flush_log_at_trx_commit', ...(more.length > 0 ? ['sync_binlog'] : [])];
    it.each(durable)('grants nothing as a lossless store while %s is 0', async (name) => {
      const store = counters({ replicated: false });
      expect(await store.take({ ...TAKE, have: 0n })).toMatchObject({ status: 'ok', end: 11n });
      await set(`${name} = 0`);
      const failure = await failureOf(store.take({ ...TAKE, have: 0n }));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(failure.message).toContain(name);
      await set(`${name} = 1`);
      expect(await store.take({ ...TAKE, have: 0n })).toMatchObject({ status: 'ok', first: 11n });
    });

    it('does not write what it read while each commit was flushed', async () => {
      const execute = async (sql: string, params: (string | number | null)[]) => {
        if (sql.startsWith('UPDATE')) await set('innodb_flush_log_at_trx_commit = 2');
        return pool.execute(sql, params);
      };
      const before = counters({ replicated: false });
      await taken(before);
      const store = sqlCounters({ pool: { execute }, dialect: 'mysql', replicated: false });
      expect((await failureOf(store.take({ ...TAKE, have: 0n }))).message).toContain('flush');
      await set('innodb_flush_log_at_trx_commit = 1');
      expect(await taken(before)).toMatchObject({ first: 11n });
    });

    it('repeats no number that a crash has lost since commits are not flushed', async () => {
      const window = { failoverWindowMs: WINDOW_MS, clockDifferenceMs: 0 };
      const store = counters(window);
      await taken(store);
      await set('innodb_flush_log_at_trx_commit = 0');
      let last = await taken(store);
      for (let count = 0; count < 50; count++) last = await taken(store);
      await node.kill();
      await node.start();
      await pool.end();
      pool = open();
      const next = await taken(counters(window));
      expect(next.first).toBeGreaterThanOrEqual(last.end);
    });
  });

  describe('PostgreSQL', () => {
    const node = new PostgresNode();
    // One connection, so that its settings are those of the next take.
    const open = () =>
      new PostgresPool({ ...LOGIN, port: node.port, max: 1 }).on('error', () => undefined);
    const LOGIN = { host: '127.0.0.1', user: 'postgres', database: 'postgres' };
    let pool: PostgresPool;
    const window = { failoverWindowMs: WINDOW_MS, clockDifferenceMs: 0 };
    const counters = () => sqlCounters({ pool, dialect: 'postgres', ...window });

    async function setFsync(value: 'on' | 'off'): Promise<void> {
      await node.sql(`ALTER SYSTEM SET fsync = ${value}`);
      await node.sql('SELECT pg_reload_conf()');
      await until(async () => (await pool.query('SHOW fsync')).rows[0].fsync === value);
    }

    beforeAll(async () => {
      await node.create();
      pool = open();
      await pool.query(registryTable('postgres'));
    });
    afterAll(async () => {
      await pool.end();
      await node.stop();
    });

    it('skips numbers once fsync is off, and again with each later start', async () => {
      await setFsync('on');
      const before = await taken(counters());
      expect(await taken(counters())).toMatchObject({ first: before.end });
      await setFsync('off');
      expect(await counters().take({ ...TAKE, have: 0n })).toMatchObject({ status: 'wait' });
      const unsynced = await taken(counters());
      expect(unsynced.first).toBeGreaterThanOrEqual(before.end + LOSS_GAP);
      await node.kill();
      await node.start();
      await pool.end();
      pool = open();
      const next = await taken(counters());
      expect(next.first).toBeGreaterThanOrEqual(unsynced.end + LOSS_GAP);
    });
  });

  describe('SQLite', () => {
    it('grants nothing while its handle does not wait for the disk', async () => {
      const database = new Database(':memory:');
      database.exec(registryTable('sqlite'));
      const store = sqlCounters({ database });
      expect(await taken(store)).toMatchObject({ end: 11n });
      database.exec('PRAGMA synchronous = NORMAL');
      const failure = await failureOf(store.take({ ...TAKE, have: 0n }));
      expect(failure.message).toContain('PRAGMA synchronous');
      database.exec('PRAGMA synchronous = FULL');
      expect(await taken(store)).toMatchObject({ first: 11n });
      database.close();
    });
  });
});
