/**
 * Query functions and drivers of applications: some retry, cache answers, hide errors, or parse
 * numbers differently. None of them makes two processes share a worker ID. A working one works, and
 * any other reports the reason.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type Pool } from 'pg';
import { createPool, type Pool as MysqlPool, type PoolOptions } from 'mysql2/promise';
import { mysqlSupport, postgresSupport, sqlSupport } from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { pause, systemTimers } from '../../lib/time/timers.js';
import { failureOf, request } from './redis-lab.js';
import { SqlLab, leased } from './sql-lab.js';

const lab = new SqlLab();
const queries = {} as Record<'postgres' | 'mysql', SqlQuery>;
let pool: Pool;
let mysql: MysqlPool;

beforeAll(async () => {
  pool = await lab.postgresTable();
  mysql = await lab.mysqlTable();
  queries.postgres = (sql, params) => pool.query(sql, params);
  queries.mysql = (sql, params) => mysql.execute(sql, params);
});
afterAll(() => lab.end());

const named = () => ({ table: lab.table, namespace: randomUUID(), replicated: false });
const isWrite = (sql: string) => /^(WITH|INSERT|UPDATE)/.test(sql);

const ENOUGH = 'enough was asked';
const STATEMENT_COUNT = 16;

/** Gives up like a caller, since a support retries for longer. */
function limited(query: SqlQuery): SqlQuery {
  let count = 0;
  return async (sql, params) => {
    if (++count > STATEMENT_COUNT) throw new Error(ENOUGH);
    return query(sql, params);
  };
}

async function workerIdsOf(supports: readonly IDistributedSupport[]): Promise<number[]> {
  const grants = await Promise.all(supports.map((support) => leased(support)));
  return grants.map(({ workerId }) => workerId);
}

describe.each(['postgres', 'mysql'] as const)('a query function of %s', (dialect) => {
  const by = (query: SqlQuery, location = named()) => sqlSupport({ query, dialect, ...location });
  const plain: SqlQuery = (sql, params) => queries[dialect](sql, params);

  it('that sends each statement two times learns that its write did not count', async () => {
    const location = named();
    await leased(by(plain, location));
    const twice: SqlQuery = async (sql, params) => {
      await plain(sql, params);
      return plain(sql, params);
    };
    const failure = await failureOf(by(limited(twice), location).getNextWorkId(request()));
    expect(failure.message).toContain(ENOUGH);
    const ids = await workerIdsOf([by(plain, location), by(plain, location)]);
    expect(new Set(ids).size).toBe(2);
  });

  it('that repeats a call after a lost response finds its write', async () => {
    let lossCount = 0;
    const losing: SqlQuery = async (sql, params) => {
      const answer = await plain(sql, params);
      if (!isWrite(sql) || lossCount++ % 2 === 1) return answer;
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    };
    const location = named();
    const [support, asked] = [by(losing, location), request()];
    const ask = async (): Promise<number> => {
      const answer = await support.getNextWorkId(asked).catch(() => undefined);
      return answer?.status === 'ok' ? answer.workerId : ask();
    };
    const workerId = await ask();
    expect((await by(plain, location).workers()).filter(({ holder }) => holder)).toMatchObject([
      { workerId },
    ]);
  });

  it('that caches responses leases no duplicate', async () => {
    const kept = new Map<string, Promise<unknown>>();
    const caching: SqlQuery = (sql, params) => {
      if (isWrite(sql)) return plain(sql, params);
      const key = JSON.stringify([sql, params]);
      kept.set(key, kept.get(key) ?? plain(sql, params));
      return kept.get(key)!;
    };
    const location = named();
    await leased(by(plain, location));
    const support = by(limited(caching), location);
    const answers = await Promise.allSettled([1, 2, 3].map(() => leased(support)));
    const ids = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value.workerId] : []));
    const all = [...ids, ...(await workerIdsOf([by(plain, location), by(plain, location)]))];
    expect(new Set(all).size).toBe(all.length);
  });

  it('that swallows write errors leases nothing', async () => {
    const silent: SqlQuery = async (sql, params) => {
      if (!isWrite(sql)) return plain(sql, params);
      return dialect === 'postgres' ? { rows: [], rowCount: 0 } : [undefined, undefined];
    };
    expect((await failureOf(by(silent).getNextWorkId(request()))).message).toContain(
      'returned something unexpected',
    );
  });

  it('that counts writes which did not happen leases nothing', async () => {
    const lying: SqlQuery = async (sql, params) => {
      if (!isWrite(sql)) return plain(sql, params);
      return dialect === 'postgres' ? [{ written: 1, in_transaction: false }] : { affectedRows: 1 };
    };
    const failure = await failureOf(by(limited(lying)).getNextWorkId(request()));
    // In PostgreSQL a write names its transaction.
    expect(failure.message).toContain(dialect === 'postgres' ? 'column transaction_id' : ENOUGH);
  });

  it.each([
    ['texts', (value: number | bigint) => String(value)],
    ['bigints', (value: number | bigint) => BigInt(value)],
  ])('that returns integers as %s leases and renews', async (_as, to) => {
    const turned = (value: unknown): unknown => {
      if (typeof value === 'number' && Number.isInteger(value)) return to(value);
      if (Array.isArray(value)) return value.map(turned);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, turned(one)]));
    };
    const query: SqlQuery = async (sql, params) => {
      const answer = await plain(sql, params);
      if (dialect === 'postgres') return turned((answer as { rows: unknown[] }).rows);
      const [first] = answer as [unknown];
      return isWrite(sql) ? first : [turned((first as object[]).map((row) => ({ ...row })))];
    };
    const support = by(query);
    const ids = await workerIdsOf([support, support]);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('a pool of mysql2', () => {
  const by = (options: PoolOptions) => createPool({ uri: process.env['MYSQL_URL']!, ...options });

  it.each<[string, PoolOptions]>([
    ['numbers as strings', { supportBigNumbers: true, bigNumberStrings: true }],
    ['dates as strings and decimals as numbers', { dateStrings: true, decimalNumbers: true }],
    ['another time zone', { timezone: '+08:00' }],
  ])('with %s leases', async (_what, options) => {
    const own = by(options);
    const support = mysqlSupport({ pool: own, ...named() });
    expect(new Set(await workerIdsOf([support, support])).size).toBe(2);
    await own.end();
  });

  it('with rows as arrays leases nothing', async () => {
    const own = by({ rowsAsArray: true });
    const support = mysqlSupport({ pool: own, ...named() });
    expect((await failureOf(support.getNextWorkId(request()))).message).toContain(
      'returned something unexpected',
    );
    await own.end();
  });
});

describe('a second copy of a driver', () => {
  it('works like the first, since no class is compared', async () => {
    const require = createRequire(import.meta.url);
    const path = require.resolve('pg');
    const [first] = [require(path) as typeof import('pg')];
    for (const name of Object.keys(require.cache)) delete require.cache[name];
    const second = require(path) as typeof import('pg');
    const url = process.env['DATABASE_URL']!;
    const pools = [first, second].map((pg) => new pg.Pool({ connectionString: url }));
    const location = named();
    const ids = await workerIdsOf(pools.map((one) => postgresSupport({ pool: one, ...location })));
    expect(new Set(ids).size).toBe(2);
    await Promise.all(pools.map((one) => one.end()));
  });
});

describe("writes over the application's connection", () => {
  it('request several commits at once, and count only those', async () => {
    const forgotten = lab.pool({ max: 1 });
    const own = named();
    await leased(postgresSupport({ pool, ...own }));
    const texts: string[] = [];
    // Not the header's time, which every other write changes as well.
    const isGrant = (sql: string) => isWrite(sql) && !sql.includes('number <');
    const isCheck = (sql: string) => sql.includes('txid_status');
    const query: SqlQuery = async (sql, params) => {
      texts.push(sql);
      const isForgotten = isGrant(sql) && texts.filter(isGrant).length === 2;
      if (isForgotten) await forgotten.query('BEGIN');
      // The others have written by then.
      if (isCheck(sql)) await pause(systemTimers, 30);
      return (isForgotten ? forgotten : pool).query(sql, params);
    };
    const support = sqlSupport({ query, dialect: 'postgres', ...own });
    const grants = await Promise.all(Array.from({ length: 6 }, () => leased(support)));
    await forgotten.query('ROLLBACK');
    const held = (await support.workers!()).map(({ workerId }) => workerId);
    expect(held.length).toBe(7);
    expect(held).toEqual(expect.arrayContaining(grants.map(({ workerId }) => workerId)));
    expect(texts.filter(isGrant).length).toBeGreaterThanOrEqual(7);
    expect(texts.filter(isCheck).length).toBeLessThan(6);
  });

  it.each([
    ['only has the query of a pool', () => ({})],
    ['was given another query', () => ({ Client, options: pool.options })],
  ])('show no statement of %s', async (_, more) => {
    const texts: unknown[] = [];
    const query: SqlQuery = (sql, params) => {
      texts.push(sql);
      return pool.query(sql, params);
    };
    await leased(postgresSupport({ pool: { ...more(), query }, ...named() }));
    expect(texts.every((text) => typeof text === 'string')).toBe(true);
  });
});
