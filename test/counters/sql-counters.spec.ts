/**
 * Counters in PostgreSQL and MariaDB pass the contract: once with time and server set by the test,
 * and once by the server's own clock.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { series, startSegments } from 'nestjs-snowflake/segments';
import { Pool } from 'pg';
import { RowCounters } from '../../lib/counters/row-counters.js';
import type { RowStore } from '../../lib/rows/row-store.js';
import {
  MYSQL_DURABLE,
  MYSQL_TIME,
  mysqlHistory,
  mysqlServer,
} from '../../lib/stores/sql/dialects/mysql.js';
import {
  POSTGRES_HISTORY,
  POSTGRES_TIME,
  PostgresDialect,
} from '../../lib/stores/sql/dialects/postgres.js';
import { SQLITE_TIME, SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import { postgresPool } from '../../lib/stores/sql/given-database.js';
import { registryTable, sqlCounters } from '../../lib/stores/sql/index.js';
import { countersFromUrl } from '../../lib/stores/sql/counters-and-locks.js';
import { checkedOptions } from '../../lib/stores/sql/sql-options.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import { describeCounterStore, SettableTime } from '../../lib/testing/index.js';
import { MapStore } from '../registry/walk-store.js';
import { MuteProxy } from '../stores/network.js';
import { forgetful } from '../stores/sql-lab.js';
import { failureOf } from '../stores/redis-lab.js';
import { freshPglite } from '../support/made-once.mjs';
import { quickFolder } from '../support/made-once.mjs';
import { COUNTERS, sqlCounterStore } from './settable-counters.js';

describe('sql counters', () => {
  const TAKE = {
    kind: 'dense',
    counter: 'c',
    count: 10n,
    have: 0n,
    lossGap: 100n,
    startAt: 1n,
  } as const;
  const RUN = randomUUID();
  const ALONE = { replicated: false, table: COUNTERS } as const;
  let postgres: Pool;
  let mysql: MysqlPool;

  beforeAll(async () => {
    postgres = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 20 });
    mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
    await postgres.query(registryTable('postgres', COUNTERS));
    await mysql.query(registryTable('mysql', COUNTERS));
  });
  afterAll(() => Promise.all([postgres.end(), mysql.end()]));

  describe('sqlCounters on PostgreSQL with a test clock', () => {
    describeCounterStore({
      test: it,
      expect,
      ...sqlCounterStore({
        query: () => (sql, params) => postgres.query(sql, params),
        time: POSTGRES_TIME,
        server: POSTGRES_HISTORY,
        mark: (number) => `$${number}::text`,
        store: (query, options) =>
          sqlCounters({ pool: { query }, dialect: 'postgres', ...options }),
      }),
    });
  });

  describe('sqlCounters on MariaDB with a test clock', () => {
    describeCounterStore({
      test: it,
      expect,
      ...sqlCounterStore({
        query: () => (sql, params) => mysql.execute(sql, params),
        time: MYSQL_TIME,
        server: mysqlHistory('server_uid', mysqlServer(true, 'server_uid'), MYSQL_DURABLE),
        mark: () => '?',
        store: (execute, options) =>
          sqlCounters({ pool: { execute }, dialect: 'mysql', ...options }),
      }),
    });
  });

  describe('sqlCounters on PostgreSQL', () => {
    describeCounterStore({
      test: it,
      expect,
      createStore: (name) =>
        sqlCounters({ pool: postgres, dialect: 'postgres', namespace: `${RUN}/${name}`, ...ALONE }),
      leaveOut: ['clock', 'losses'],
    });
  });

  describe('sqlCounters on MariaDB', () => {
    // The setting of a test server, which need not flush each commit.
    const window = { table: COUNTERS, failoverWindowMs: 20, clockDifferenceMs: 0 };
    describeCounterStore({
      test: it,
      expect,
      createStore: (name) =>
        sqlCounters({ pool: mysql, dialect: 'mysql', namespace: `${RUN}/${name}`, ...window }),
      leaveOut: ['clock', 'losses'],
    });
  });

  describe('a table of counters', () => {
    it('if missing, is named in the error with the command that creates it', async () => {
      const store = sqlCounters({ pool: postgres, dialect: 'postgres', table: 'nowhere' });
      const failure = await failureOf(store.take(TAKE));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(failure.message).toContain('registryTable()');
    });

    it('grants no number in a transaction that began since the read', async () => {
      const namespace = `${RUN}/forgotten`;
      const { given, rollBack } = forgetful(postgres);
      const others = sqlCounters({ pool: postgres, dialect: 'postgres', namespace, ...ALONE });
      expect(await others.take(TAKE)).toMatchObject({ first: 1n });
      const store = sqlCounters({ ...given, namespace, ...ALONE });
      expect(await store.take(TAKE)).toMatchObject({ first: 11n });
      expect(await store.take(TAKE)).toMatchObject({ first: 21n });
      await rollBack();
      expect(await others.take(TAKE)).toMatchObject({ first: 31n });
    });

    it('grants correctly while others take from it', async () => {
      const namespace = `${RUN}/overtaken`;
      const others = sqlCounters({ pool: postgres, dialect: 'postgres', namespace, ...ALONE });
      await others.take(TAKE);
      const query: SqlQuery = async (sql, params) => {
        const answer = await postgres.query(sql, params);
        if (/UPDATE/.test(sql)) await others.take(TAKE);
        return answer;
      };
      const store = sqlCounters({ query, dialect: 'postgres', namespace, ...ALONE });
      expect(await store.take(TAKE)).toMatchObject({ status: 'ok', first: 11n });
      expect(await others.take(TAKE)).toMatchObject({ status: 'ok', first: 31n });
    });

    it('needs two statements per take, and verifies the commit of a given pool', async () => {
      const sent: string[] = [];
      const query: SqlQuery = (sql, params) => {
        sent.push(sql);
        return postgres.query(sql, params);
      };
      const namespace = `${RUN}/sent`;
      const store = sqlCounters({ query, dialect: 'postgres', namespace, ...ALONE });
      await store.take(TAKE);
      sent.length = 0;
      expect(await store.take(TAKE)).toMatchObject({ status: 'ok', first: 11n });
      expect(sent.map((sql) => /\b(SELECT|UPDATE|INSERT)\b/.exec(sql)![0])).toEqual([
        'SELECT',
        'UPDATE',
        'SELECT',
      ]);
    });

    it('is not written within a transaction that may be rolled back', async () => {
      const client = await postgres.connect();
      try {
        await client.query('BEGIN');
        const store = sqlCounters({ pool: client, dialect: 'postgres', ...ALONE });
        const failure = await failureOf(store.take({ ...TAKE, counter: RUN }));
        expect(failure.message).toContain('transaction');
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    });

    it('is refused if another program wrote a row', async () => {
      const namespace = `${RUN}/spoilt`;
      const store = sqlCounters({ pool: postgres, dialect: 'postgres', namespace, ...ALONE });
      await store.take(TAKE);
      for (const data of ['{}', 'x', '{"version":"2"}']) {
        const spoil = `UPDATE ${COUNTERS} SET data = $1 WHERE namespace = $2`;
        await postgres.query(spoil, [data, namespace]);
        expect(await failureOf(store.take(TAKE))).toMatchObject({ retryable: false });
      }
    });

    it('is found by a URL', async () => {
      const base = process.env['DATABASE_URL']!;
      const store = countersFromUrl(`${base}?table=${COUNTERS}&namespace=${RUN}&replicated=false`);
      expect(await store.take(TAKE)).toMatchObject({ status: 'ok', first: 1n, end: 11n });
      await store.close();
    });
  });
});

/*
 * Counters in embedded databases pass the contract: SQLite in a file, and PGlite.
 */
describe('embedded counters', () => {
  const folder = quickFolder('counters');
  const path = join(folder, 'counters.db');
  let database: InstanceType<typeof Database>;
  let pglite: PGlite;
  const opened: RowCounters[] = [];

  beforeAll(async () => {
    database = new Database(path);
    database.exec(registryTable('sqlite', COUNTERS));
    pglite = await freshPglite();
    await pglite.exec(registryTable('postgres', COUNTERS));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });
  afterAll(async () => {
    await pglite.close();
    database.close();
    rmSync(folder, { recursive: true });
  });

  describe('sqlCounters on SQLite with a test clock', () => {
    const IDENTITY = `'the file'`;
    describeCounterStore({
      test: it,
      expect,
      ...sqlCounterStore({
        query: () => async (sql, params) => database.prepare(sql).all(...params),
        time: SQLITE_TIME,
        server: IDENTITY,
        mark: () => '?',
        store: (query, options) =>
          new RowCounters(
            new SqlRows({
              ...checkedOptions(options),
              kind: 'counters',
              dialect: new SqliteDialect(IDENTITY),
              connection: { where: { text: 'SQLite', secrets: [] }, query },
            }),
          ),
      }),
    });
  });

  describe('sqlCounters on a URL of SQLite', () => {
    const run = randomUUID();
    describeCounterStore({
      test: it,
      expect,
      createStore(name) {
        const namespace = encodeURIComponent(`${run}/${name}`);
        const store = countersFromUrl(`sqlite:${path}?table=${COUNTERS}&namespace=${namespace}`);
        opened.push(store);
        return store;
      },
      leaveOut: ['clock', 'losses'],
    });

    it('is refused if a power failure could lose grants', async () => {
      const handle = new Database(path);
      handle.exec('PRAGMA synchronous = NORMAL');
      const store = sqlCounters({ database: handle, table: COUNTERS });
      const failure = await failureOf(store.create({ counter: 'c', start: 1n }));
      expect(failure.message).toContain('PRAGMA synchronous');
      handle.close();
    });
  });

  describe('segments of sqlite:', () => {
    it('continue in the file that its URL names', async () => {
      const namespace = randomUUID();
      const store = `sqlite:${path}?table=${COUNTERS}&namespace=${namespace}`;
      const options = { store, counter: 'order', startAt: 7n, stepMin: 10 };
      const first = await startSegments(options);
      expect(first.ids.nextIds(3)).toEqual([7n, 8n, 9n]);
      await first.close();
      const second = await startSegments(options);
      expect(second.ids.nextId()).toBe(10n);
      expect(second.ids.status).toMatchObject({ kind: 'segments', state: 'active' });
      await second.close();
    });
  });

  describe('sqlCounters on PGlite with a test clock', () => {
    describeCounterStore({
      test: it,
      expect,
      ...sqlCounterStore({
        query: () => (sql, params) => pglite.query(sql, params),
        time: POSTGRES_TIME,
        server: POSTGRES_HISTORY,
        mark: (number) => `$${number}::text`,
        store: (query, options) =>
          sqlCounters({ pool: { query }, dialect: 'postgres', ...options }),
      }),
    });
  });

  describe('sqlCounters on PGlite', () => {
    it('identify it by its history', async () => {
      const store = sqlCounters({
        pool: pglite,
        dialect: 'postgres',
        table: COUNTERS,
        replicated: false,
      });
      expect(await store.create({ counter: 'c', start: 2n ** 60n })).toBe(true);
      const take = { kind: 'dense', counter: 'c', count: 1n, have: 0n, lossGap: 10n } as const;
      expect(await store.take(take)).toMatchObject({ status: 'ok', first: 2n ** 60n });
    });
  });
});

// A call without a response: later calls succeed, and no number repeats.

describe('a series whose store is silent', () => {
  const invoicesIn = (rows: RowStore) => {
    const time = new SettableTime();
    const store = new RowCounters(rows, { timers: time });
    const own = { name: 'invoice', period: 'year', timeZone: 'UTC', form: '{date}-{0}' } as const;
    return { time, invoices: series({ store, ...own, clock: time, timers: time }) };
  };

  it('skips a dead pool connection, and ends the call that used it', async () => {
    const server = new URL(process.env['DATABASE_URL']!);
    const proxy = await new MuteProxy(Number(server.port)).listen();
    server.port = String(proxy.port);
    const pool = new Pool({ connectionString: server.href });
    pool.on('error', () => undefined);
    await pool.query(registryTable('postgres', COUNTERS));
    const rows = new SqlRows({
      connection: postgresPool(pool),
      dialect: new PostgresDialect(),
      table: COUNTERS,
      namespace: randomUUID(),
      kind: 'counters',
      lossWindowMs: 0,
    });
    const { time, invoices } = invoicesIn(rows);
    expect(await invoices.next()).toBe('2026-1');
    proxy.mute();
    const dead = failureOf(invoices.next());
    const others = [invoices.next(), invoices.next()];
    await time.advance(5000);
    expect(await Promise.all(others)).toEqual(['2026-2', '2026-3']);
    await time.advance(5000);
    expect(await dead).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { timeoutMs: 10_000 },
    });
    proxy.end();
    await pool.end();
  });

  it('repeats no number if the skipped call continues', async () => {
    const rows = new MapStore({ timeMs: 0, server: 'one' });
    const write = rows.write.bind(rows);
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    rows.write = async (change) => {
      rows.write = write;
      await held;
      return write(change);
    };
    const { time, invoices } = invoicesIn(rows);
    const calls = [invoices.next(), invoices.next()];
    await time.advance(5000);
    expect(await calls[1]).toBe('2026-1');
    goOn();
    await time.advance(500);
    expect(await calls[0]).toBe('2026-2');
    expect(time.timerCount).toBe(0);
  });
});
