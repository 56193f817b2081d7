/**
 * The module in a Nest application that leases from a real Redis: it renews the lease, releases it
 * even if the client is closed, and starts once Redis is reachable.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
  MemoryRows,
  MemorySupport,
  layouts,
  startSnowflake,
} from 'nestjs-snowflake';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { redisSupport } from 'nestjs-snowflake/redis';
import pg from 'pg';
import { SettableTime } from 'nestjs-snowflake/testing';
import ts from 'typescript';
import { inspectorOf, lockPreparationOf } from '../../lib/stores/schemes.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { RedisLab } from '../stores/redis-lab.js';
import { bundledScript, compileLibrary } from '../support/builds.mjs';
import { until } from '../until.js';
import { currentIdMaker } from '../../lib/nest/id-maker.js';
import { snippetsIn } from '../docs/snippets.js';
import { runWith } from '../package/command.js';
import { ROOT } from '../tidy/tree.js';

describe('leases from Redis', () => {
  const REDIS_URL = process.env['REDIS_URL']!;
  const redisUrl = () => `${REDIS_URL}?namespace=${randomUUID()}`;

  function appOf(options: SnowflakeModuleOptions) {
    return Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
    }).compile();
  }

  describe('the lifecycle with Redis', () => {
    it.each(['onModuleDestroy', 'onApplicationShutdown'] as const)(
      'releases the worker ID even if the application closes its client in %s',
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
      expect(ids.status).toMatchObject({ state: 'active', workerId: expect.any(Number) });
      expect(ids.status.incarnation).toMatch(/^[\w-]{36}$/);
      await app.get(RefreshAlive).run();
      await app.close();
      expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    });

    it('starts lazily without Redis, and gets a worker ID once Redis is reachable', async () => {
      const { port, stop } = await startRedis();
      await stop();
      const support = `redis://127.0.0.1:${port}`;
      const app = await appOf({ support, lazy: true });
      await app.init();
      const ids = app.get(IdMaker);
      expect(ids.status.state).toBe('unassigned');
      await expect(ids.nextIdAsync({ signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
      const waiting = ids.nextIdAsync();
      await using _server = await startRedis({ port });
      expect(await waiting).toBeGreaterThan(0n);
      await app.close();
    });
  });
});

/*
 * A start that fails after it got a lease: it releases the worker ID, closes the connections, and
 * lets a process with no other work end.
 */
describe('failed start', () => {
  const REDIS_URL = process.env['REDIS_URL']!;
  /** Compiling on a busy machine takes a minute. A hang never ends. */
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
      'because of %s releases the worker ID and lets the process end',
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
 * SnowflakeModule and LockModule with the same URL: how many connections the server counts while
 * the application runs and after it has closed, and what each module releases.
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

  /** Acquires a lock once the store has waited for locks that it may have lost. */
  async function usesLock(app: Awaited<ReturnType<typeof application>>): Promise<bigint> {
    let token = 0n;
    await until(async () => {
      const held = app.get(DistributedLock).using('order:7', async (section) => section.token);
      token = await held.catch(() => 0n);
      return token > 0n;
    });
    return token;
  }

  describe('two modules that share one Redis', () => {
    it.each([false, true])(
      'have one connection, and none after the close (locks first: %s)',
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
        // The module that closed last still released what it held.
        const view = redisSupport({ redis: `redis://127.0.0.1:${port}`, namespace });
        const [worker] = await view.workers();
        expect(worker).not.toHaveProperty('holder');
        await view.close();
      },
    );
  });

  /** Creates the tables of worker IDs and locks. */
  async function prepare(url: string): Promise<void> {
    const inspector = await inspectorOf(url);
    await inspector.preparation!.run();
    await inspector.close();
    await (await lockPreparationOf(url))!.run();
  }

  describe('two modules that share one PostgreSQL', () => {
    it('have one connection each, and none after the close', async () => {
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

// IDs without an application. The guide's own migration runs under TypeORM's command line, and so
// does its seed in a process of its own, compiled as a user compiles them, on real servers. Also
// what startSnowflake() promises.

const REDIS_URL = process.env['REDIS_URL']!;
const GUIDE = 'docs/guides/scripts.md';
/** Compiling on a busy machine takes a minute. A hang never ends. */
const SLOW = 300_000;

/** Returns the block of the guide that contains the text, as JavaScript. */
function compiled(text: string): string {
  const file = { path: GUIDE, text: readFileSync(join(ROOT, GUIDE), 'utf8') };
  const { code } = snippetsIn(file).find((snippet) => snippet.code.includes(text))!;
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  );
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  // An application that is compiled for Node 20 turns `await using` into try and finally.
  const compilerOptions = {
    ...options,
    module: ts.ModuleKind.ES2022,
    target: ts.ScriptTarget.ES2022,
  };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

describe('the guide to scripts', () => {
  const namespace = randomUUID();
  const schema = `scripts_${namespace.replaceAll('-', '_')}`;
  let folder: string;
  let database: pg.Client;
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = await compileLibrary('nest/ending-application.mjs');
    const entry = (path: string) => `./lib/${path}.js`;
    const exports = { '.': entry('index'), './typeorm': entry('orm/typeorm/index') };
    const manifest = { name: 'nestjs-snowflake', type: 'module', exports };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'data-source.js'), compiled('class AddPlans'));
    writeFileSync(join(folder, 'seed.js'), compiled('export async function seed'));
    const run = "import dataSource from './data-source.js';\nimport { seed } from './seed.js';\n";
    writeFileSync(join(folder, 'run-seed.js'), `${run}await seed(dataSource);\n`);
    const url = new URL(process.env['DATABASE_URL']!);
    database = new pg.Client({ connectionString: url.href });
    await database.connect();
    await database.query(`CREATE SCHEMA ${schema}`);
    url.searchParams.set('options', `-c search_path=${schema}`);
    env = { DATABASE_URL: url.href, SNOWFLAKE_SUPPORT: `${REDIS_URL}?namespace=${namespace}` };
  }, SLOW);

  afterAll(async () => {
    await database?.query(`DROP SCHEMA ${schema} CASCADE`);
    await database?.end();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it(
    'fills IDs in a migration under the TypeORM CLI, and in a seed',
    async () => {
      const cli = join(ROOT, 'node_modules', 'typeorm', 'cli.js');
      const dataSource = join(folder, 'data-source.js');
      await runWith(env, folder, process.execPath, cli, 'migration:run', '-d', dataSource);
      const first = await rows();
      expect(first.map(({ name }) => name)).toEqual(['free', 'team', 'company']);
      await runWith(env, folder, process.execPath, join(folder, 'run-seed.js'));
      const all = await rows();
      expect(all).toHaveLength(first.length + 1001);
      const ids = all.map(({ id }) => layouts.snowflake().parse(id));
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
      expect(new Set(ids.map(({ workerId }) => workerId)).size).toBeLessThanOrEqual(2);
      const support = redisSupport({ redis: REDIS_URL, namespace });
      const held = (await support.workers()).filter(({ holder }) => holder !== undefined);
      await support.close();
      expect(held).toEqual([]);
    },
    SLOW,
  );

  async function rows(): Promise<{ id: string; name: string }[]> {
    return (await database.query(`SELECT id, name FROM ${schema}.plans ORDER BY id`)).rows;
  }
});

describe('startSnowflake()', () => {
  it('renews the lease until it is closed, and releases the worker ID once', async () => {
    const time = new SettableTime();
    const support = new MemorySupport({ rows: new MemoryRows(time) });
    const holders = async () =>
      (await support.workers()).filter(({ holder }) => holder !== undefined);
    const starting = startSnowflake({ support, clock: time, timers: time });
    await time.advance(5000);
    const snowflake = await starting;
    const { ids } = snowflake;
    await time.advance(600_000);
    expect(ids.status.leaseEndsAt! > ids.status.readAt).toBe(true);
    expect(await holders()).toHaveLength(1);
    await Promise.all([snowflake.close(), snowflake.close()]);
    await snowflake.close();
    expect([await holders(), time.timerCount]).toEqual([[], 0]);
    expect(() => ids.nextId()).toThrow(/given back at shutdown/);
  });

  it('is closed at the end of `await using`', async () => {
    const snowflake = await startSnowflake({ workerId: 920 });
    await snowflake[Symbol.asyncDispose]();
    expect(snowflake.ids.status.state).toBe('released');
  });

  it('works next to an application and other calls: entities use the latest one', async () => {
    const support = () => `${REDIS_URL}?namespace=beside-${process.pid}`;
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ support: support() })],
    }).compile();
    await app.init();
    const scripts = [
      await startSnowflake({ support: support() }),
      await startSnowflake({ support: support() }),
    ];
    const named = await startSnowflake({ support: support(), name: 'tickets' });
    const makers = [app.get(IdMaker), ...scripts.map(({ ids }) => ids), named.ids];
    expect(new Set(makers.map(({ status }) => status.workerId)).size).toBe(4);
    expect(currentIdMaker()).toBe(scripts[1]!.ids);
    expect(currentIdMaker('tickets')).toBe(named.ids);
    await scripts[1]!.close();
    expect(currentIdMaker()).toBe(scripts[0]!.ids);
    await scripts[0]!.close();
    expect(currentIdMaker()).toBe(app.get(IdMaker));
    await Promise.all([named.close(), app.close()]);
  });
});
