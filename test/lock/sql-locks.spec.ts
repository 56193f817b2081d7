/**
 * Locks in PostgreSQL and MariaDB satisfy the contract: once with time and server under the test's
 * control, and once by the server's own clock.
 */
import Database from 'libsql';
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { HEADER_KEY, type Row } from '../../lib/rows/row-store.js';
import type { Dialect } from '../../lib/stores/sql/dialects/dialect.js';
import { MYSQL_TIME, MysqlDialect, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import {
  POSTGRES_SERVER,
  POSTGRES_TIME,
  PostgresDialect,
} from '../../lib/stores/sql/dialects/postgres.js';
import { SQLITE_TIME, SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import { registryTable, sqlLocks } from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { locksFromUrl } from '../../lib/stores/sql/counters-and-locks.js';
import { checkedOptions } from '../../lib/stores/sql/sql-options.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { failureOf } from '../stores/redis-lab.js';
import { forgetful } from '../stores/sql-lab.js';
import { freshPglite, quickFolder } from '../support/made-once.mjs';
import { heldIn, namedLock, readySpaces } from './held-locks.js';
import { LOCKS, sqlLockStore, walkLocks, type WalkReport } from './settable-locks.js';

describe('sql locks', () => {
  const RUN = randomUUID();
  const ALONE = { replicated: false, table: LOCKS } as const;
  let postgres: Pool;
  let mysql: MysqlPool;

  beforeAll(async () => {
    postgres = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 20 });
    mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
    await postgres.query(registryTable('postgres', LOCKS));
    await mysql.query(registryTable('mysql', LOCKS));
  });
  afterAll(() => Promise.all([postgres.end(), mysql.end()]));

  describe('sqlLocks on PostgreSQL with a test clock', () => {
    describeLockStore({
      test: it,
      expect,
      leaveOut: ['untilReleased'],
      ...sqlLockStore({
        query: () => (sql, params) => postgres.query(sql, params),
        time: POSTGRES_TIME,
        server: POSTGRES_SERVER,
        mark: (number) => `$${number}::text`,
        store: (query, options) => sqlLocks({ pool: { query }, dialect: 'postgres', ...options }),
      }),
    });
  });

  describe('sqlLocks on MariaDB with a test clock', () => {
    describeLockStore({
      test: it,
      expect,
      leaveOut: ['untilReleased'],
      ...sqlLockStore({
        query: () => (sql, params) => mysql.execute(sql, params),
        time: MYSQL_TIME,
        server: mysqlServer(true, 'server_uid'),
        mark: () => '?',
        store: (execute, options) => sqlLocks({ pool: { execute }, dialect: 'mysql', ...options }),
      }),
    });
  });

  describe.each([
    ['PostgreSQL', () => ({ pool: postgres, dialect: 'postgres' }) as const, []],
    ['MariaDB', () => ({ pool: mysql, dialect: 'mysql' }) as const, ['untilReleased'] as const],
  ])('sqlLocks on %s', (_name, database, untold) => {
    let createStore: (name: string) => LockStore;
    beforeAll(async () => {
      createStore = await readySpaces((namespace) =>
        sqlLocks({ ...database(), namespace, ...ALONE }),
      );
    });

    describeLockStore({
      test: it,
      expect,
      createStore: (name) => createStore(name),
      leaveOut: ['clock', 'losses', ...untold],
    });
  });

  describe('a table of locks', () => {
    const postgresLocks = (namespace: string): LockStore =>
      sqlLocks({ pool: postgres, dialect: 'postgres', namespace, ...ALONE });

    it('if missing, is named in the error with the command that creates it', async () => {
      const store = sqlLocks({ pool: postgres, dialect: 'postgres', table: 'nowhere' });
      const failure = await failureOf(store.acquire(namedLock('a')));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(failure.message).toContain('registryTable()');
    });

    it('grants nothing in a transaction that began since the read', async () => {
      const namespace = `${RUN}/forgotten`;
      await heldIn(postgresLocks(namespace), namedLock('first'));
      const { given, rollBack } = forgetful(postgres);
      await heldIn(sqlLocks({ ...given, namespace, ...ALONE }), namedLock('a'));
      await rollBack();
      const later = await postgresLocks(namespace).acquire(namedLock('a'));
      expect(later).toMatchObject({ status: 'held' });
    });

    it('needs one statement, and verifies the commit of a given pool', async () => {
      const sent: string[] = [];
      const query: SqlQuery = (sql, params) => {
        sent.push(sql);
        return postgres.query(sql, params);
      };
      const store = sqlLocks({ query, dialect: 'postgres', namespace: `${RUN}/sent`, ...ALONE });
      await store.release(await heldIn(store, namedLock('a')));
      sent.length = 0;
      await store.release(await heldIn(store, namedLock('a')));
      const verbs = sent.map((sql) => /\b(SELECT|UPDATE|INSERT)\b/.exec(sql)![0]);
      const written = ['UPDATE', 'SELECT'];
      expect(verbs).toEqual([...written, ...written]);
      expect(sent.filter((sql) => sql.includes('pg_notify'))).toEqual([sent[2]]);
    });

    it('is not written within a transaction that may be rolled back', async () => {
      const client = await postgres.connect();
      try {
        await client.query('BEGIN');
        const store = sqlLocks({ pool: client, dialect: 'postgres', ...ALONE });
        const failure = await failureOf(store.acquire(namedLock('a')));
        expect(failure.message).toContain('transaction');
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    });

    it('is not granted from memory if commits are unknown', async () => {
      const client = await postgres.connect();
      try {
        const asked = { namespace: `${RUN}/untold`, serverSql: "'one'", table: LOCKS } as const;
        const store = sqlLocks({ pool: client, dialect: 'postgres', ...asked });
        await store.release(await heldIn(store, namedLock('a')));
        await client.query('BEGIN');
        const failure = await failureOf(store.acquire(namedLock('a')));
        expect(failure.message).toContain('transaction');
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    });

    it('grants nothing by a corrupt row', async () => {
      const namespace = `${RUN}/spoilt`;
      const store = postgresLocks(namespace);
      await heldIn(store, namedLock('a'));
      for (const data of ['{}', 'x', '{"version":"2"}']) {
        const spoil = `UPDATE ${LOCKS} SET data = $1 WHERE namespace = $2`;
        await postgres.query(spoil, [data, namespace]);
        const failure = await failureOf(store.acquire(namedLock('a')));
        expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      }
    });

    it('keeps a stalled attempt from writing an outdated state', async () => {
      const namespace = `${RUN}/stalled`;
      await heldIn(postgresLocks(namespace), namedLock('first'));
      let reached!: () => void;
      let goOn!: () => void;
      const isStalled = new Promise<void>((resolve) => (reached = resolve));
      const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
      let stallCount = 0;
      const query: SqlQuery = async (sql, params) => {
        if (/INSERT|UPDATE/.test(sql) && stallCount++ === 0) {
          reached();
          await mayGoOn;
        }
        return postgres.query(sql, params);
      };
      const stalled = sqlLocks({ query, dialect: 'postgres', namespace, ...ALONE });
      const late = stalled.acquire(namedLock('a'));
      await isStalled;
      await heldIn(postgresLocks(namespace), namedLock('a'));
      goOn();
      expect(await late).toMatchObject({ status: 'held' });
    });

    it('is found by a URL', async () => {
      const base = process.env['DATABASE_URL']!;
      const url = `${base}?table=${LOCKS}&namespace=${RUN}&replicated=false`;
      for (const store of [locksFromUrl(url), sqlLocks({ url })]) {
        await store.release(await heldIn(store, namedLock('a')));
        await store.close!();
      }
      const more = { url, namespace: 'shop' };
      expect(() => sqlLocks(more)).toThrow('`namespace`');
    });
  });
});

/*
 * Rows of locks in each database. A write requires the row that it depends on, and only unused rows
 * are deleted.
 */
describe('sql lock rows', () => {
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
    await postgres.query(registryTable('postgres', TABLE));
    await mysql.query(registryTable('mysql', TABLE));
    await pglite.exec(registryTable('postgres', TABLE));
    sqlite.exec(registryTable('sqlite', TABLE));
  });
  afterAll(async () => {
    await Promise.all([postgres.end(), mysql.end(), pglite.close()]);
    sqlite.close();
  });

  function rowsOf(dialect: Dialect, query: SqlQuery, namespace: string = randomUUID()): SqlRows {
    const connection = { where: { text: 'a database', secrets: [] }, query };
    const parts = { namespace, table: TABLE, lossWindowMs: 0, kind: 'locks' } as const;
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
    it('are written only together with the row they depend on, unchanged since the read', async () => {
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

    it('are deleted if they are unused, and only then', async () => {
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

  describe('a user without the right to delete', () => {
    it('gets a log line that old locks cannot be removed', async () => {
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
});

/*
 * Many clients at one table of locks, in two databases, even while connections are killed. Each
 * lock has one holder, and tokens increase. Without the version of the row, the walk detects an
 * error.
 */
describe('sql lock walk', () => {
  const TABLE = `walked_${randomUUID().replaceAll('-', '')}`;
  const PACE = { clientCount: 40, lockCount: 4, ttlMs: 300, lastsMs: 5000, seed: 7 };
  let postgres: Pool;
  let mysql: MysqlPool;

  beforeAll(async () => {
    const connectionString = process.env['DATABASE_URL']!;
    postgres = new Pool({ connectionString, max: 20, application_name: TABLE });
    mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
    // The connections that the test kills.
    postgres.on('error', () => undefined);
    await postgres.query(registryTable('postgres', TABLE));
    await mysql.query(registryTable('mysql', TABLE));
  });
  afterAll(() => Promise.all([postgres.end(), mysql.end()]));

  function storesOf(query: SqlQuery, dialect: 'postgres' | 'mysql'): LockStore[] {
    const namespace = randomUUID();
    const options = { query, dialect, namespace, table: TABLE, replicated: false };
    return Array.from({ length: 10 }, () => sqlLocks(options));
  }

  const onPostgres: SqlQuery = (sql, params) => postgres.query(sql, params);

  describe('a random walk of many clients', () => {
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
              // The connections of this pool.
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ` +
                `application_name = '${TABLE}' AND pid <> pg_backend_pid() LIMIT 3`,
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

    it('finds two holders if a row is written whatever its version is', async () => {
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
});

/*
 * Locks in embedded databases satisfy the contract: SQLite in a file, and PGlite.
 */

const folder = quickFolder('locks');
const path = join(folder, 'locks.db');
let database: InstanceType<typeof Database>;
let pglite: PGlite;

beforeAll(async () => {
  database = new Database(path);
  database.exec(registryTable('sqlite', LOCKS));
  pglite = await freshPglite();
  await pglite.exec(registryTable('postgres', LOCKS));
});
afterAll(async () => {
  await pglite.close();
  database.close();
  rmSync(folder, { recursive: true });
});

describe('sqlLocks on SQLite with a test clock', () => {
  const IDENTITY = `'the file'`;
  describeLockStore({
    test: it,
    expect,
    leaveOut: ['untilReleased'],
    ...sqlLockStore({
      query: () => async (sql, params) => database.prepare(sql).all(...params),
      time: SQLITE_TIME,
      server: IDENTITY,
      mark: () => '?',
      store: (query, options) =>
        new RowLocks(
          new SqlRows({
            ...checkedOptions(options),
            kind: 'locks',
            dialect: new SqliteDialect(IDENTITY),
            connection: { where: { text: 'SQLite', secrets: [] }, query },
          }),
        ),
    }),
  });
});

describe('sqlLocks on a URL of SQLite', () => {
  const opened: LockStore[] = [];
  let createStore: (name: string) => LockStore;
  const storeOf = (namespace: string) =>
    locksFromUrl(`sqlite:${path}?table=${LOCKS}&namespace=${encodeURIComponent(namespace)}`);
  beforeAll(async () => {
    createStore = await readySpaces(storeOf);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close!()));
  });

  describeLockStore({
    test: it,
    expect,
    createStore(name) {
      const store = createStore(name);
      opened.push(store);
      return store;
    },
    leaveOut: ['clock', 'losses', 'untilReleased'],
  });
});

describe('sqlLocks on PGlite with a test clock', () => {
  describeLockStore({
    test: it,
    expect,
    leaveOut: ['untilReleased'],
    ...sqlLockStore({
      query: () => (sql, params) => pglite.query(sql, params),
      time: POSTGRES_TIME,
      server: POSTGRES_SERVER,
      mark: (number) => `$${number}::text`,
      store: (query, options) => sqlLocks({ pool: { query }, dialect: 'postgres', ...options }),
    }),
  });
});

describe('sqlLocks on PGlite', () => {
  it('use its own clock', async () => {
    const options = { dialect: 'postgres', table: LOCKS, replicated: false } as const;
    const store = sqlLocks({ pool: pglite, ...options });
    const short = { ttlMs: 200, longestMs: 200 };
    const held = await heldIn(store, namedLock('a', short));
    expect(await store.acquire(namedLock('a', short))).toMatchObject({ status: 'held' });
    await store.release(held);
    const { token } = await heldIn(store, namedLock('a', short));
    expect(token > held.token).toBe(true);
  });
});
