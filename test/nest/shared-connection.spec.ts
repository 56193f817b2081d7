/**
 * SnowflakeModule and LockModule side by side on one URL: how many connections the server counts
 * while the application runs and after it was closed, and what each gives back.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { randomUUID } from 'node:crypto';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { redisSupport } from 'nestjs-snowflake/redis';
import pg from 'pg';
import { inspectorOf, lockPreparationOf } from '../../lib/stores/schemes.js';
import { RedisLab } from '../stores/redis-lab.js';
import { until } from '../until.js';

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
  it.each([false, true])('have one connection, and none later (locks first: %s)', async (first) => {
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
  });
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
