/**
 * Locks in PostgreSQL and MariaDB keep the contract: once with the time and the server in the hands
 * of the test, once by the server's own clock.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { MYSQL_TIME, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import { POSTGRES_SERVER, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { lockTable, sqlLocks } from '../../lib/stores/sql/index.js';
import { locksFromUrl } from '../../lib/stores/sql/sql-locks.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-query.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { failureOf } from '../stores/redis-lab.js';
import { heldIn, namedLock, readySpaces } from './store-locks.js';
import { LOCKS, sqlLockStore } from './settable-sql-locks.js';

const RUN = randomUUID();
const ALONE = { replicated: false, table: LOCKS } as const;
let postgres: Pool;
let mysql: MysqlPool;

beforeAll(async () => {
  postgres = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 20 });
  mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
  await postgres.query(lockTable('postgres', LOCKS));
  await mysql.query(lockTable('mysql', LOCKS));
});
afterAll(() => Promise.all([postgres.end(), mysql.end()]));

describe('sqlLocks on PostgreSQL, told the time by the test', () => {
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

describe('sqlLocks on MariaDB, told the time by the test', () => {
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

  it('that is not there is asked for, by name and with how to make it', async () => {
    const store = sqlLocks({ pool: postgres, dialect: 'postgres', table: 'nowhere' });
    const failure = await failureOf(store.acquire(namedLock('a')));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
    expect(failure.message).toContain('lockTable()');
  });

  it('takes two statements for each acquire and each release', async () => {
    const sent: string[] = [];
    const query: SqlQuery = (sql, params) => {
      sent.push(sql);
      return postgres.query(sql, params);
    };
    const store = sqlLocks({ query, dialect: 'postgres', namespace: `${RUN}/sent`, ...ALONE });
    await store.release(await heldIn(store, namedLock('a')));
    sent.length = 0;
    await store.release(await heldIn(store, namedLock('a')));
    const verbs = sent.map((sql) => /\b(SELECT pg_notify|SELECT|UPDATE|INSERT)\b/.exec(sql)![0]);
    // Nobody waits for the last one.
    expect(verbs).toEqual(['SELECT', 'UPDATE', 'SELECT', 'UPDATE', 'SELECT pg_notify']);
  });

  it('is not written within a transaction that somebody may roll back', async () => {
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

  it('grants nothing by a row into which somebody else wrote', async () => {
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

  it('keeps an attempt that stalled from writing what no longer holds', async () => {
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
