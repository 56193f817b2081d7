/**
 * Rows of locks in each database: written only beside the row they rest on, and deleted only where
 * nobody needs them.
 */
import { randomUUID } from 'node:crypto';
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { Dialect } from '../../lib/stores/sql/dialects/dialect.js';
import { MysqlDialect } from '../../lib/stores/sql/dialects/mysql.js';
import { PostgresDialect } from '../../lib/stores/sql/dialects/postgres.js';
import { SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import { lockTable } from '../../lib/stores/sql/index.js';
import { HEADER_KEY, type Row } from '../../lib/rows/row-store.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-query.js';
import { failureOf } from '../stores/redis-lab.js';
import { freshPglite } from '../support/fresh-pglite.mjs';

const TABLE = 'rows_of_locks';
const FAR = 2n ** 62n;
let postgres: Pool;
let mysql: MysqlPool;
let pglite: PGlite;
let sqlite: InstanceType<typeof Database>;

beforeAll(async () => {
  postgres = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 5 });
  mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 5 });
  pglite = await freshPglite();
  sqlite = new Database(':memory:');
  await postgres.query(lockTable('postgres', TABLE));
  await mysql.query(lockTable('mysql', TABLE));
  await pglite.exec(lockTable('postgres', TABLE));
  sqlite.exec(lockTable('sqlite', TABLE));
});
afterAll(async () => {
  await Promise.all([postgres.end(), mysql.end(), pglite.close()]);
  sqlite.close();
});

function rowsOf(dialect: Dialect, query: SqlQuery, namespace: string = randomUUID()): SqlRows {
  const connection = { where: { text: 'a database', secrets: [] }, query };
  const parts = { namespace, table: TABLE, lossWindowMs: 0, holds: 'locks' } as const;
  return new SqlRows({ ...parts, dialect, connection });
}

const DATABASES: readonly [string, () => SqlRows][] = [
  ['PostgreSQL', () => rowsOf(new PostgresDialect(), (...asked) => postgres.query(...asked))],
  ['MariaDB', () => rowsOf(new MysqlDialect(), (...asked) => mysql.execute(...asked))],
  ['PGlite', () => rowsOf(new PostgresDialect(), (...asked) => pglite.query(...asked))],
  [
    'SQLite',
    () => rowsOf(new SqliteDialect(), async (sql, params) => sqlite.prepare(sql).all(...params)),
  ],
];

describe.each(DATABASES)('rows of locks in %s', (_name, open) => {
  it('are written only beside the row they rest on, as it was read', async () => {
    const rows = open();
    const { server } = await rows.read({ keys: [HEADER_KEY, 'a'] });
    const header = { key: HEADER_KEY, number: FAR, text: 'header' };
    const first = { server, headerVersion: undefined, headerNumber: 0n, header, rows: [] };
    expect(await rows.write(first)).toBe(true);
    expect(await rows.write(first)).not.toBe(true);
    const [stored] = (await rows.read({ keys: [HEADER_KEY, 'a'] })).rows;
    const { version: headerVersion } = stored!;
    const beside = (row: Row, version?: number) => ({
      server,
      headerVersion,
      headerNumber: FAR,
      rows: [{ row, version }],
    });
    const isNow = beside({ key: 'a', number: 7n, text: 'lock' });
    const isOld = { headerVersion: headerVersion + 1 };
    expect(await rows.write({ ...isNow, ...isOld })).toBe(false);
    expect(await rows.write({ ...isNow, server: `${server}0` })).toBe(false);
    expect(await rows.write(isNow)).toBe(true);
    expect(await rows.write(isNow)).not.toBe(true);
    const read = await rows.read({ keys: [HEADER_KEY, 'a'] });
    const found = read.rows.find(({ key }) => key === 'a')!;
    expect([found.number, found.text]).toEqual([7n, 'lock']);
    const update = beside({ key: 'a', number: FAR, text: 'next' }, found.version);
    expect(await rows.write({ ...update, ...isOld })).toBe(false);
    expect(await rows.write({ ...update, server: `${server}0` })).toBe(false);
    expect(await rows.write(update)).toBe(true);
    expect(await rows.write(update)).toBe(false);
    const all = (await rows.readAll()).rows.map(({ key, number, text }) => [key, number, text]);
    expect(new Set(all)).toEqual(
      new Set([
        ['a', FAR, 'next'],
        ['|', FAR, 'header'],
      ]),
    );
    await rows.close();
  });

  it('are deleted where nobody needs them, and nowhere else', async () => {
    const [rows, others] = [open(), open()];
    const { server } = await rows.read({ keys: ['a'] });
    const write = (of: SqlRows, key: string, number: bigint) =>
      of.write({
        server,
        headerVersion: undefined,
        headerNumber: 0n,
        rows: [{ row: { key, number, text: 'lock' }, version: undefined }],
      });
    for (const number of [4n, 5n, FAR]) await write(rows, `at${number}`, number);
    await write(others, 'a', 1n);
    await rows.sweep(5n);
    const keys = async (of: SqlRows) => (await of.readAll()).rows.map(({ key }) => key);
    expect((await keys(rows)).toSorted()).toEqual([`at${FAR}`, 'at5']);
    expect(await keys(others)).toEqual(['a']);
  });
});

describe('a user who may not delete', () => {
  it('is told that old locks cannot be removed', async () => {
    const query: SqlQuery = async (sql, params) => {
      if (!sql.includes('DELETE')) return postgres.query(sql, params);
      throw Object.assign(new Error('permission denied for table'), { code: '42501' });
    };
    const rows = rowsOf(new PostgresDialect(), query);
    expect((await rows.advice()).join()).not.toContain('cannot be removed');
    expect((await failureOf(rows.sweep(5n))).message).toContain('UPDATE and DELETE');
    expect((await rows.advice()).join()).toContain('Old locks cannot be removed from the table');
  });
});
