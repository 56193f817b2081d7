/**
 * The module in a Nest application that leases from a real Redis: renewed, given back although the
 * client is closed, and had as soon as the Redis comes.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  IdMaker,
  RefreshAlive,
  SnowflakeModule,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { redisSupport } from 'nestjs-snowflake/redis';
import pg from 'pg';
import { inspectorOf, lockPreparationOf } from '../../lib/stores/schemes.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { RedisLab } from '../stores/redis-lab.js';
import { bundledScript } from '../threads/compiled-library.js';
import { until } from '../until.js';

describe('lease from redis', () => {
  const REDIS_URL = process.env['REDIS_URL']!;
  const redisUrl = () => `${REDIS_URL}?namespace=${randomUUID()}`;

  function appOf(options: SnowflakeModuleOptions) {
    return Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
    }).compile();
  }

  describe('the lifecycle with Redis', () => {
    it.each(['onModuleDestroy', 'onApplicationShutdown'] as const)(
      'gives the worker id back although the application closes its client in %s',
      async (hook) => {
        const redis = new Redis(REDIS_URL);
        const namespace = randomUUID();
        @Injectable()
        class Owner implements OnModuleDestroy, OnApplicationShutdown {
          async onModuleDestroy() {
            if (hook === 'onModuleDestroy') await redis.quit();
          }
          async onApplicationShutdown() {
            if (hook === 'onApplicationShutdown') await redis.quit();
          }
        }
        const app = await Test.createTestingModule({
          imports: [
            ScheduleModule.forRoot(),
            SnowflakeModule.forRoot({ support: redisSupport({ redis, namespace }) }),
          ],
          providers: [Owner],
        }).compile();
        await app.init();
        await app.close();
        const view = redisSupport({ redis: REDIS_URL, namespace });
        expect((await view.workers())[0]).not.toHaveProperty('holder');
        await view.close();
      },
    );

    it('registers RefreshAlive, which renews the lease, and leaves no timer behind', async () => {
      const app = await appOf({ support: redisUrl(), refreshAliveIntervalMs: 100 });
      await app.init();
      const ids = app.get(IdMaker);
      const before = ids.status.leaseEndsAt!;
      await until(() => ids.status.leaseEndsAt! > before);
      expect(ids.status).toMatchObject({ state: 'active', workerId: 0 });
      expect(ids.status.incarnation).toMatch(/^[\w-]{36}$/);
      await app.get(RefreshAlive).run();
      await app.close();
      expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    });

    it('lazy: starts without Redis and gets a worker id when it comes', async () => {
      const { port, stop } = await startRedis();
      await stop();
      const support = `redis://127.0.0.1:${port}`;
      const app = await appOf({ support, lazy: true });
      await app.init();
      const ids = app.get(IdMaker);
      expect(ids.status.state).toBe('unassigned');
      await expect(ids.nextIdAsync({ signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
      const waiting = ids.nextIdAsync();
      const server = await startRedis({ port });
      expect(await waiting).toBeGreaterThan(0n);
      await app.close();
      await server.stop();
    });
  });
});

/*
 * A start that fails after its lease was held: the worker id is given back, the connections are
 * closed, and a process that has nothing else to do ends.
 */
describe('failed start', () => {
  const REDIS_URL = process.env['REDIS_URL']!;
  /** Compiling on a busy machine takes a minute; a hang takes for ever. */
  const SLOW = 300_000;

  let script: string;
  beforeAll(async () => {
    script = await bundledScript('nest/ending-application.mjs');
  }, SLOW);

  async function outcomeOf(way: string) {
    const namespace = randomUUID();
    const APPLICATION = JSON.stringify({ way, support: `${REDIS_URL}?namespace=${namespace}` });
    const child = spawn(process.execPath, [script], {
      env: { ...process.env, APPLICATION },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: SLOW / 2,
    });
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));
    const [exitCode] = (await once(child, 'close')) as [number | null];
    const support = redisSupport({ redis: REDIS_URL, namespace });
    const workers = await support.workers();
    await support.close();
    const heldCount = workers.filter(({ holder }) => holder !== undefined).length;
    return { ...(JSON.parse(output) as object), exitCode, usedCount: workers.length, heldCount };
  }

  describe('a start that fails', () => {
    it.each([
      ['an integration', 'planted'],
      ['a name taken in the scheduler', 'already exists in the SchedulerRegistry'],
      ['a second generator', 'No worker id was leased'],
      ['a script', 'planted'],
    ])(
      'because of %s gives the worker id back and lets the process end',
      async (way, message) => {
        expect(await outcomeOf(way)).toMatchObject({
          message: expect.stringContaining(message),
          exitCode: 0,
          usedCount: 1,
          heldCount: 0,
        });
      },
      SLOW,
    );

    it(
      'because of two generators without a name leases nothing',
      async () => {
        expect(await outcomeOf('two without a name')).toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining('registered 2 times without a `name`'),
          exitCode: 0,
          usedCount: 0,
        });
      },
      SLOW,
    );
  });
});

/*
 * SnowflakeModule and LockModule side by side on one URL: how many connections the server counts
 * while the application runs and after it was closed, and what each gives back.
 */
describe('shared connection', () => {
  const lab = new RedisLab();
  afterAll(() => lab.end());

  async function application(url: string, others: { locksFirst?: boolean } = {}) {
    const imports = [
      ScheduleModule.forRoot(),
      SnowflakeModule.forRoot({ support: url }),
      LockModule.forRoot({ locks: url, ttlMs: 1000, longestTtlMs: 1000 }),
    ];
    const module = await Test.createTestingModule({
      imports: others.locksFirst === true ? imports.toReversed() : imports,
    }).compile();
    const app = module.createNestApplication({ logger: false });
    await app.init();
    return app;
  }

  /** A lock, once the store has waited for what it may have forgotten. */
  async function usesLock(app: Awaited<ReturnType<typeof application>>): Promise<bigint> {
    let token = 0n;
    await until(async () => {
      const held = app.get(DistributedLock).using('order:7', async (section) => section.token);
      token = await held.catch(() => 0n);
      return token > 0n;
    });
    return token;
  }

  describe('modules beside each other on one Redis', () => {
    it.each([false, true])(
      'have one connection, and none later (locks first: %s)',
      async (first) => {
        const { port } = await lab.server();
        const admin = lab.client(port);
        const count = async () =>
          [...String(await admin.call('CLIENT', 'LIST')).matchAll(/^id=/gm)].length - 1;
        const namespace = randomUUID();
        const url = `redis://127.0.0.1:${port}?namespace=${namespace}`;
        const app = await application(url, { locksFirst: first });
        expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
        expect(await usesLock(app)).toBeGreaterThan(0n);
        expect(await count()).toBe(1);
        await app.close();
        await until(async () => (await count()) === 0);
        // Whoever was closed last gave back what it held, though the other had closed before.
        const view = redisSupport({ redis: `redis://127.0.0.1:${port}`, namespace });
        const [worker] = await view.workers();
        expect(worker).not.toHaveProperty('holder');
        await view.close();
      },
    );
  });

  /** Makes the tables of worker ids and locks. */
  async function prepare(url: string): Promise<void> {
    const inspector = await inspectorOf(url);
    await inspector.preparation!.run();
    await inspector.close();
    await (await lockPreparationOf(url))!.run();
  }

  describe('modules beside each other on one PostgreSQL', () => {
    it('have a connection each, and none later', async () => {
      const admin = new pg.Client(process.env['DATABASE_URL']!);
      await admin.connect();
      const database = `shared_${randomUUID().replaceAll('-', '')}`;
      await admin.query(`CREATE DATABASE ${database}`);
      const count = async (): Promise<number> => {
        const asked = 'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = $1';
        return (await admin.query<{ n: number }>(asked, [database])).rows[0]!.n;
      };
      const url = new URL(process.env['DATABASE_URL']!);
      url.pathname = `/${database}`;
      url.searchParams.set('replicated', 'false');
      await prepare(url.toString());
      const app = await application(url.toString());
      expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
      expect(await usesLock(app)).toBeGreaterThan(0n);
      expect(await count()).toBe(2);
      await app.close();
      await until(async () => (await count()) === 0);
      await admin.query(`DROP DATABASE ${database}`);
      await admin.end();
    });
  });
});
