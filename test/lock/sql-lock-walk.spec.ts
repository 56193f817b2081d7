/**
 * Many clients at one table of locks, in two databases: nobody holds a lock beside another one, and
 * tokens rise; also while connections are killed. Without the version of the row, the walk sees it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { lockTable, sqlLocks } from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-query.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { walkLocks, type WalkReport } from './lock-walk.js';

const TABLE = 'walked_locks';
const PACE = { clientCount: 40, lockCount: 4, ttlMs: 300, lastsMs: 5000, seed: 7 };
let postgres: Pool;
let mysql: MysqlPool;

beforeAll(async () => {
  postgres = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 20 });
  mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
  // Of connections that the test kills.
  postgres.on('error', () => undefined);
  await postgres.query(lockTable('postgres', TABLE));
  await mysql.query(lockTable('mysql', TABLE));
});
afterAll(() => Promise.all([postgres.end(), mysql.end()]));

function storesOf(query: SqlQuery, dialect: 'postgres' | 'mysql'): LockStore[] {
  const namespace = randomUUID();
  const options = { query, dialect, namespace, table: TABLE, replicated: false };
  return Array.from({ length: 10 }, () => sqlLocks(options));
}

const onPostgres: SqlQuery = (sql, params) => postgres.query(sql, params);

describe('a walk of many clients', () => {
  it.each([
    ['PostgreSQL', 'postgres', onPostgres],
    ['MariaDB', 'mysql', ((sql, params) => mysql.execute(sql, params)) as SqlQuery],
  ] as const)('on %s', async (_name, dialect, query) => {
    const isEnough = (seen: WalkReport) =>
      seen.grantCount > 50 && seen.extendedCount > 10 && seen.heldCount > 10;
    const report = await walkLocks({ ...PACE, stores: storesOf(query, dialect), isEnough });
    expect([report.twoHolders, report.fallenTokens]).toEqual([[], []]);
  });

  it('on PostgreSQL whose connections are killed', async () => {
    let isOver = false;
    const killing = (async () => {
      while (!isOver) {
        // The pace of the faults.
        await sleep(200);
        await postgres
          .query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IS NOT NULL ` +
              `AND pid <> pg_backend_pid() AND query LIKE '%${TABLE}%' LIMIT 3`,
          )
          .catch(() => undefined);
      }
    })();
    const isEnough = (seen: WalkReport) => seen.grantCount > 50 && seen.failureCount > 0;
    const stores = storesOf(onPostgres, 'postgres');
    const report = await walkLocks({ ...PACE, stores, isEnough });
    isOver = true;
    await killing;
    expect([report.twoHolders, report.fallenTokens]).toEqual([[], []]);
  });

  it('sees two holders where a row is written whatever its version is', async () => {
    const blind: SqlQuery = (sql, params) =>
      postgres.query(
        sql.replace(/version = (\$\d+::bigint) AND EXISTS/, '$1 > 0 AND EXISTS'),
        params,
      );
    const isEnough = ({ twoHolders }: WalkReport) => twoHolders.length > 0;
    const report = await walkLocks({ ...PACE, stores: storesOf(blind, 'postgres'), isEnough });
    expect(isEnough(report)).toBe(true);
  });
});
