/**
 * Locks in Redis satisfy the contract, with time and server under the test's control. Messages,
 * here with Redis' own clock, end a wait early, but are not required.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type INestApplicationContext, Injectable, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { DistributedLock, Locked, LockModule } from 'nestjs-snowflake/lock';
import { registryTable } from 'nestjs-snowflake/sql';
import { Pool } from 'pg';
import { RedisLocks } from '../../lib/stores/redis/index.js';
import { locksFromUrl } from '../../lib/stores/redis/redis-locks.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { PostgresNode } from '../chaos/stores/postgres.mjs';
import { until } from '../until.js';
import { failureOf, RedisLab } from '../stores/redis-lab.js';
import { redisLockStore } from './settable-locks.js';

describe('redis locks', () => {
  const opened: RedisLocks[] = [];
  const url = () => process.env['REDIS_URL']!;
  const lab = new RedisLab();
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(url());
  });
  afterAll(() => Promise.all([redis.quit(), lab.end()]));
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });

  function locksOf(options: Partial<ConstructorParameters<typeof RedisLocks>[0]> = {}): RedisLocks {
    const store = new RedisLocks({
      redis: url(),
      namespace: randomUUID(),
      lossWindowMs: 0,
      ...options,
    });
    opened.push(store);
    return store;
  }

  const asked = (holder: string, lock = 'order:7') => {
    return { lock, holder, label: 'host 1 shop', ttlMs: 60_000, longestMs: 60_000, have: 0n };
  };

  /** A namespace whose first locks end at once, so that no case has to wait. */
  async function held(store: RedisLocks, holder: string, lock = 'order:7'): Promise<bigint> {
    const first = { ...asked('first', 'first'), ttlMs: 1, longestMs: 1 };
    while ((await store.acquire(first)).status === 'wait');
    const answer = await store.acquire(asked(holder, lock));
    if (answer.status !== 'ok') throw new Error(answer.status);
    return answer.token;
  }

  describe('RedisLocks with a test clock', () => {
    describeLockStore({ test: it, expect, ...redisLockStore(() => redis, opened) });
  });

  describe('a caller that waits for a lock in Redis', () => {
    const never = new AbortController().signal;

    it('gets a message when it is released, and no other caller does', async () => {
      const namespace = randomUUID();
      const [one, two] = [locksOf({ namespace }), locksOf({ namespace })];
      const token = await held(one, 'a');
      const other = await held(one, 'b', 'order:8');
      let isTold = false;
      const told = two.untilReleased('order:7', 0, never).then(() => (isTold = true));
      await one.release({ lock: 'order:8', holder: 'b', token: other });
      expect(isTold).toBe(false);
      await one.release({ lock: 'order:7', holder: 'a', token });
      await told;
      expect((await two.acquire(asked('c'))).status).toBe('ok');
    });

    it('gets one as soon as it is free, but not during keepMs', async () => {
      const store = locksOf();
      const token = await held(store, 'a');
      await store.release({ lock: 'order:7', holder: 'a', token, keepMs: 60_000 });
      const stop = new AbortController();
      let isTold = false;
      const told = store.untilReleased('order:7', 0, stop.signal).then(() => (isTold = true));
      await store.untilReleased('order:9', 0, never);
      expect(isTold).toBe(false);
      stop.abort();
      await told;
      await store.untilReleased('order:7', 0, stop.signal);
    });

    it('waits without harm if messages cannot be sent', async () => {
      const { port } = await lab.server();
      const admin = lab.client(port);
      await admin.call(
        'ACL',
        'SETUSER',
        'shop',
        'on',
        '>pw',
        '~*',
        '+@all',
        '-publish',
        '-subscribe',
      );
      const store = locksOf({ redis: `redis://shop:pw@127.0.0.1:${port}` });
      const token = await held(store, 'a');
      const stop = new AbortController();
      const told = store.untilReleased('order:7', 0, stop.signal);
      await store.release({ lock: 'order:7', holder: 'a', token });
      expect((await store.acquire(asked('b'))).status).toBe('ok');
      stop.abort();
      await told;
    });
  });

  describe("the guide's user", () => {
    const GUIDE = new URL('../../docs/guides/redis.md', import.meta.url);
    const [line = ''] = /^ACL SETUSER shop-locks .*$/m.exec(readFileSync(GUIDE, 'utf8')) ?? [];
    const rights = line.split(' ').slice(3);

    it('has all rights that locks need, and receives releases', async () => {
      const { port } = await lab.server();
      await lab.client(port).call('ACL', 'SETUSER', 'shop-locks', 'reset', ...rights);
      const store = locksOf({
        redis: `redis://shop-locks:secret@127.0.0.1:${port}`,
        namespace: 'shop',
      });
      const token = await held(store, 'a');
      const told = store.untilReleased('order:7', 0, new AbortController().signal);
      await store.untilReleased('order:8', 0, new AbortController().signal);
      expect(await store.extend({ ...asked('a'), token })).toMatchObject({ status: 'ok' });
      expect(await store.locks()).toHaveLength(1);
      await store.release({ lock: 'order:7', holder: 'a', token });
      await told;
      expect(await store.advice()).toEqual([]);
    });

    it.each(['+hset', '+hmget', '+time', '+evalsha'])(
      'without %s is refused before any lock is held',
      async (right) => {
        const { port } = await lab.server();
        const admin = lab.client(port);
        const fewer = rights.filter((one) => one !== right);
        await admin.call('ACL', 'SETUSER', 'shop-locks', 'reset', ...fewer);
        const store = locksOf({
          redis: `redis://shop-locks:secret@127.0.0.1:${port}`,
          namespace: 'shop',
        });
        const failure = await failureOf(store.acquire(asked('a')));
        expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
        expect(await admin.dbsize()).toBe(0);
      },
    );
  });

  describe("the locks' hash", () => {
    it('drops unused names', async () => {
      const { port } = await lab.server();
      const store = locksOf({ redis: `redis://127.0.0.1:${port}`, namespace: 'n' });
      const admin = lab.client(port);
      await held(store, 'a');
      const old = Array.from({ length: 400 }, (_, at) => [`l:old:${at}`, `1|1|1|1||label`]);
      await admin.hset(store.key, ...old.flat());
      for (let at = 0; at < 2000; at++) await store.acquire(asked('a'));
      expect(await admin.hlen(store.key)).toBeLessThan(100);
      expect((await store.locks()).map(({ lock }) => lock)).toEqual(['order:7']);
    });

    it('stays untouched if another version or another program wrote it', async () => {
      const store = locksOf();
      await redis.hset(store.key, 'version', '2', 'lastTime', '1');
      const failure = await failureOf(store.acquire(asked('a')));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(failure.message).toMatch(/version "?2"? of the protocol/);
      expect(await redis.hlen(store.key)).toBe(2);

      const other = locksOf();
      await held(other, 'a');
      await redis.hset(other.key, 'l:order:9', 'a text');
      expect(await failureOf(other.acquire(asked('b', 'order:9')))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
      expect(await redis.hget(other.key, 'l:order:9')).toBe('a text');
    });
  });

  describe('redisLocks options', () => {
    it('can be given in a URL', async () => {
      const store = locksFromUrl(`${url()}?namespace=u-${randomUUID()}&lossWindowMs=0`);
      opened.push(store);
      expect(store.lossWindowMs).toBe(0);
      expect((await store.acquire(asked('a'))).status).toBe('wait');
    });

    it('set loss windows that fit the kind of server', () => {
      expect(new RedisLocks({ redis: 'redis://localhost' }).lossWindowMs).toBe(2000);
      const sentinel = new RedisLocks({ redis: 'redis+sentinel://localhost/mymaster' });
      expect(sentinel.lossWindowMs).toBe(18_000);
    });
  });
});

/*
 * Two applications that share locks by a URL alone. Sections exclude each other, a lock passes from
 * one application to the other, and store errors have the right message.
 */
describe('shared locks', () => {
  const lab = new RedisLab();
  const opened: INestApplicationContext[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((app) => app.close()));
  });
  afterAll(() => lab.end());

  /**
   * The store has no earlier holders, so the first lock waits for the longest hold.
   */
  const TTL_MS = 1000;

  async function locksAt(url: string): Promise<DistributedLock> {
    const app = await NestFactory.createApplicationContext(
      LockModule.forRoot({ locks: url, ttlMs: TTL_MS }),
      { logger: false, abortOnError: false },
    );
    opened.push(app);
    return app.get(DistributedLock);
  }

  const withName = (url: string) => `${url}?namespace=${randomUUID()}`;
  const [REDIS, POSTGRES, MARIADB, ETCD] = [
    process.env['REDIS_URL']!,
    process.env['DATABASE_URL']!,
    process.env['MYSQL_URL']!,
    process.env['ETCD_URL']!,
  ];

  beforeAll(async () => {
    const postgres = new Pool({ connectionString: POSTGRES });
    const mysql = createPool({ uri: MARIADB });
    await postgres.query(registryTable('postgres'));
    await mysql.query(registryTable('mysql'));
    await Promise.all([postgres.end(), mysql.end()]);
  });

  describe('LockModule', () => {
    it.each([
      ['Redis', `${withName(REDIS)}&lossWindowMs=0`],
      ['PostgreSQL', `${withName(POSTGRES)}&replicated=false`],
      ['MariaDB', `${withName(MARIADB)}&replicated=false`],
      ['etcd', withName(ETCD)],
    ])('runs one section at a time on %s, with rising tokens', async (_name, url) => {
      const [one, two] = [await locksAt(url), await locksAt(url)];
      let inside = 0;
      const tokens: bigint[] = [];
      const section = async ({ token }: { readonly token: bigint }) => {
        inside++;
        expect(inside).toBe(1);
        // Other callers get every opportunity to interfere.
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
        inside--;
        tokens.push(token);
      };
      const all = Array.from({ length: 24 }, (_, at) =>
        (at % 2 === 0 ? one : two).using('order:7', { waitMs: 600_000 }, section),
      );
      await Promise.all(all);
      expect(tokens).toHaveLength(24);
      expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    });
  });

  describe('LockModule on Redis', () => {
    it('distinguishes a held lock from an unreachable Redis', async () => {
      const { port, url: plain } = await lab.server();
      const url = `${plain}?namespace=n&lossWindowMs=0`;
      const [one, two] = [await locksAt(url), await locksAt(url)];
      await one.using('order:7', { waitMs: 60_000 }, async () => {
        await expect(two.using('order:7', { waitMs: 0 }, async () => 1)).rejects.toMatchObject({
          code: 'LOCK_HELD',
        });
        expect(await two.tryAcquire('order:7')).toBeUndefined();
        expect((await two.list()).map(({ lock }) => lock)).toEqual(['order:7']);
      });
      await lab.client(port).call('ACL', 'SETUSER', 'default', '-evalsha', '-eval');
      await expect(two.tryAcquire('order:7')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    });

    it('reports to a holder that its lock is lost when Redis is flushed', async () => {
      const { port, url: plain } = await lab.server();
      const locks = await locksAt(`${plain}?namespace=n&lossWindowMs=0`);
      const error = await locks
        .using('order:7', { waitMs: 60_000 }, async ({ signal }) => {
          await lab.client(port).flushall();
          if (!signal.aborted)
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
        })
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'LOCK_LOST' });
    });
  });
});

/*
 * A job that is due right after a restart of the lock store runs once in a fleet. A replica that
 * skips running jobs waits until the store grants locks again, and logs this in one line.
 */
describe('restarted store', () => {
  const REPLICAS = 5;
  const folder = mkdtempSync(`${tmpdir()}/snowflake-locks-`);
  const ending: (() => unknown)[] = [];

  afterEach(async () => {
    for (const end of ending.splice(0).toReversed()) await end();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  @Injectable()
  class Jobs {
    static runCount = 0;

    @Locked('job:report', { onHeld: 'skip', holdAtLeastMs: 60_000 })
    async report(): Promise<number> {
      return ++Jobs.runCount;
    }

    @Locked((at: number) => `job:sales:${at}`, { onHeld: 'skip', holdAtLeastMs: 60_000 })
    async sales(_at: number): Promise<void> {}
  }

  async function replica(locks: string, warnings: string[]): Promise<INestApplicationContext> {
    const module = LockModule.forRoot({ locks, ttlMs: 2000 });
    const logger = { log() {}, error() {}, warn: (line: string) => void warnings.push(line) };
    const app = await NestFactory.createApplicationContext(
      { module: Jobs, imports: [module], providers: [Jobs], exports: [Jobs] },
      { logger: logger as LoggerService, abortOnError: false },
    );
    ending.push(() => app.close());
    return app;
  }

  async function redisFile() {
    const args = ['--dir', folder, '--appendonly', 'yes'];
    let server = await startRedis({ args });
    ending.push(() => server.stop());
    const { port } = server;
    return {
      url: `${server.url}?namespace=jobs`,
      async restart() {
        process.kill(server.pid, 'SIGTERM');
        await until(() => !existsSync(`/proc/${server.pid}`));
        server = await startRedis({ port, args });
      },
    };
  }

  async function postgres() {
    const node = new PostgresNode();
    ending.push(() => node.stop());
    await node.create();
    await node.sql(registryTable('postgres'));
    return {
      url: `postgres://postgres@127.0.0.1:${node.port}/postgres?namespace=jobs&replicated=false`,
      async restart() {
        // A regular shutdown: clients receive an error, and all data is on disk.
        process.kill(node.pid, 'SIGINT');
        await until(() => !existsSync(`/proc/${node.pid}`));
        await node.start();
      },
    };
  }

  describe.each([
    ['Redis with its file', redisFile],
    ['PostgreSQL', postgres],
  ])('a job in five replicas, after a restart of %s', (_name, start) => {
    it('runs in one replica', async () => {
      const store = await start();
      const warnings: string[] = [];
      const apps: INestApplicationContext[] = [];
      for (let n = 0; n < REPLICAS; n++) apps.push(await replica(store.url, warnings));
      // The first lock of a new store.
      await Promise.all(apps.map((app) => app.get(Jobs).sales(1)));
      await store.restart();
      [Jobs.runCount, warnings.length] = [0, 0];
      // No call has happened since, so each replica has its old connection.
      const ran = await Promise.all(apps.map((app) => app.get(Jobs).report()));
      expect(ran.filter(Boolean)).toEqual([1]);
      // At most one line of each replica, however often it calls in the meantime.
      const pauses = warnings.filter((line) => /grants none for another \d+ ms/.test(line));
      expect(pauses.length).toBeLessThanOrEqual(REPLICAS);
    });
  });
});
