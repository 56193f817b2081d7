/**
 * Two applications that share locks by a URL alone: sections exclude each other, a lock goes from
 * one application to the other, and what befalls the store is told as what it is.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createPool } from 'mysql2/promise';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { lockTable } from 'nestjs-snowflake/sql';
import { Pool } from 'pg';
import { RedisLab } from '../stores/redis-lab.js';

const lab = new RedisLab();
const opened: INestApplicationContext[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((app) => app.close()));
});
afterAll(() => lab.end());

/** Nobody held anything before, so that the first lock is waited for as long as it may be held. */
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
  await postgres.query(lockTable('postgres'));
  await mysql.query(lockTable('mysql'));
  await Promise.all([postgres.end(), mysql.end()]);
});

describe('LockModule', () => {
  it.each([
    ['Redis', `${withName(REDIS)}&lossWindowMs=0`],
    ['PostgreSQL', `${withName(POSTGRES)}&replicated=false`],
    ['MariaDB', `${withName(MARIADB)}&replicated=false`],
    ['etcd', withName(ETCD)],
  ])('lets one section run at a time on %s, with tokens that rise', async (_name, url) => {
    const [one, two] = [await locksAt(url), await locksAt(url)];
    let inside = 0;
    const tokens: bigint[] = [];
    const section = async ({ token }: { readonly token: bigint }) => {
      inside++;
      expect(inside).toBe(1);
      // Others have every opportunity to come in.
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
  it('tells a lock that is held from a Redis that is away', async () => {
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

  it('tells a holder that its lock is lost when Redis is flushed', async () => {
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
