/**
 * The sessions that operators and applications configure. A session without durability is refused,
 * a conflict with another process is retried, and each message states the remedy.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import Database from 'libsql';
import { Client, type Pool } from 'pg';
import type { Pool as MysqlPool } from 'mysql2/promise';
import { DataSource } from 'typeorm';
import {
  CreateSnowflakeRegistry1767225600000,
  registryTable,
  mysqlSupport,
  postgresSupport,
  sqlLocks,
  sqlSupport,
  sqliteSupport,
} from '../../lib/stores/sql/index.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import { POSTGRES_DURABLY, POSTGRES_SOON } from '../../lib/stores/sql/dialects/postgres.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { sqliteHandle } from '../../lib/stores/sql/dialects/sqlite-file.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { heldIn, namedLock } from '../lock/held-locks.js';
import { ownDatabase } from '../own-database.js';
import { failureOf, request } from './redis-lab.js';
import { SqlLab, broken, forgetful, leased } from './sql-lab.js';

const lab = new SqlLab();
let pool: Pool;
let mysql: MysqlPool;
beforeAll(async () => {
  pool = await lab.postgresTable();
  mysql = await lab.mysqlTable();
});
afterAll(() => lab.end());

/** Without replicas, so the first range of a new registry starts within a second. */
const named = () => ({ table: lab.table, namespace: randomUUID(), replicated: false });

const idsOf = async (support: IDistributedSupport) =>
  (await support.workers!()).map(({ workerId }) => workerId);

describe('PostgreSQL', () => {
  it.each(['serializable', 'repeatable read'])(
    'leases if %s applies to all sessions',
    async (isolation) => {
      const strict = lab.pool({
        options: `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`,
        max: 10,
      });
      const support = postgresSupport({ pool: strict, ...named() });
      const grants = await Promise.all(Array.from({ length: 20 }, () => leased(support)));
      expect(new Set(grants.map(({ workerId }) => workerId)).size).toBe(20);
    },
  );

  it('leases to 50 concurrent processes if all is serializable', async () => {
    const { url, drop } = await ownDatabase(process.env['DATABASE_URL']!);
    const owner = lab.unkept({ connectionString: url });
    await owner.query(registryTable('postgres', lab.table));
    const name = new URL(url).pathname.slice(1);
    await owner.query(`ALTER DATABASE ${name} SET default_transaction_isolation = serializable`);
    const { namespace } = named();
    const query = `table=${lab.table}&namespace=${namespace}&replicated=false`;
    const supports = Array.from({ length: 50 }, () => supportFromUrl(`${url}?${query}`));
    // Each has its own connection, and none waits for another one.
    const grants = await Promise.all(supports.map((support) => leased(support)));
    expect(new Set(grants.map(({ workerId }) => workerId)).size).toBe(50);
    await Promise.all(supports.map((support) => support.close()));
    await owner.end();
    await drop();
  });

  it('leases as a user with three rights, and reports what is hidden from it', async () => {
    const role = `r${randomUUID().replaceAll('-', '')}`;
    // Each database has its own rights on functions.
    const { url, drop } = await ownDatabase(process.env['DATABASE_URL']!);
    const owner = lab.unkept({ connectionString: url });
    await owner.query(registryTable('postgres', lab.table));
    await owner.query(`CREATE ROLE ${role} LOGIN`);
    await owner.query(`GRANT SELECT, INSERT, UPDATE ON ${lab.table} TO ${role}`);
    await owner.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    const asRole = new URL(url);
    asRole.username = role;
    const user = lab.unkept({ connectionString: asRole.href });
    const own = named();
    const support = postgresSupport({ pool: user, ...own });
    await leased(support);
    const serverNow = async () => {
      const header = `SELECT data FROM ${lab.table} WHERE namespace = $1 AND name = '|'`;
      const { rows } = await owner.query<{ data: string }>(header, [own.namespace]);
      return (JSON.parse(rows[0]!.data) as { server: string }).server;
    };
    const started = await serverNow();
    expect((await support.advice()).join()).toContain('pg_control_system');
    await owner.query(`REVOKE INSERT, UPDATE ON ${lab.table} FROM ${role}`);
    expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
      retryable: false,
      message: expect.stringContaining('SELECT, INSERT and UPDATE') as unknown,
    });
    await owner.query(`GRANT INSERT, UPDATE ON ${lab.table} TO ${role}`);
    await owner.query('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
    // Running processes use the same server name as later ones.
    await leased(support);
    expect(await serverNow()).toMatch(new RegExp(`^\\d+/${started}$`));
    await user.end();
    await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await owner.end();
    await drop();
  });

  it.each([
    [
      'a URL',
      (table: string) =>
        supportFromUrl(`${process.env['DATABASE_URL']}?table=${table}&replicated=false`),
    ],
    [
      'a pool of pg',
      (table: string) => postgresSupport({ pool: lab.pool({ max: 1 }), table, replicated: false }),
    ],
  ])('prepares each text once, by %s, even if the table was altered', async (_, supportOf) => {
    const table = `t${randomUUID().replaceAll('-', '')}`;
    await pool.query(registryTable('postgres', table));
    const support = supportOf(table);
    const sent = jest.spyOn(Client.prototype, 'query');
    /** The named statements sent since, and the unnamed ones. */
    const since = () => {
      const all = sent.mock.calls.map(([first]) => Object(first) as { name?: string });
      sent.mockClear();
      return [all.flatMap(({ name }) => name ?? []), all.filter(({ name }) => !name)] as const;
    };
    await leased(support);
    await leased(support);
    const [names] = since();
    expect(new Set(names).size).toBeLessThan(names.length);
    await pool.query(`ALTER TABLE ${table} ALTER COLUMN data TYPE varchar(9000)`);
    since();
    await leased(support);
    const [named, unnamed] = since();
    // The first one is refused, since its plan returns another type.
    expect([named.length, unnamed.length > 1]).toEqual([1, true]);
    sent.mockRestore();
    await support.close();
    await pool.query(`DROP TABLE ${table}`);
  });

  it('refuses to lease inside a transaction that may be rolled back', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    const support = postgresSupport({ pool: client, ...named() });
    const failure = await failureOf(support.getNextWorkId(request()));
    await client.query('ROLLBACK');
    client.release();
    expect(failure.message).toContain('inside a transaction');
  });

  it('does not write over a connection with an open transaction', async () => {
    const forgotten = lab.pool({ max: 1 });
    await forgotten.query('BEGIN');
    const own = named();
    const first = await leased(postgresSupport({ pool, ...own }));
    let writeCount = 0;
    const query: SqlQuery = (sql, params) => {
      const isWrite = sql.startsWith('WITH changed');
      return (isWrite && writeCount++ < 2 ? forgotten : pool).query(sql, params);
    };
    const support = sqlSupport({ query, dialect: 'postgres', ...own });
    const second = await leased(support);
    await forgotten.query('ROLLBACK');
    const workerIds = [first.workerId, second.workerId].toSorted((a, b) => a - b);
    expect(await idsOf(support)).toEqual(workerIds);
    expect(writeCount).toBeGreaterThan(2);
  });

  it.each([
    ['', undefined],
    [', if the server reports no transaction', "'one'"],
  ])(
    'does not count a write in a transaction that began since the read%s',
    async (_text, serverSql) => {
      const { given, rollBack } = forgetful(pool);
      const own = { ...named(), ...(serverSql !== undefined && { serverSql }) };
      const first = await leased(postgresSupport({ pool, ...own }));
      const support = sqlSupport({ ...given, ...own });
      const second = await leased(support);
      await rollBack();
      const workerIds = [first.workerId, second.workerId].toSorted((x, y) => x - y);
      expect(await idsOf(support)).toEqual(workerIds);
    },
  );

  it('refuses a read in the transaction of its write', async () => {
    const forgotten = lab.pool({ max: 1 });
    const own = named();
    await leased(postgresSupport({ pool, ...own }));
    let isForgotten = false;
    const query: SqlQuery = async (sql, params) => {
      if (sql.startsWith('WITH changed') && !isForgotten) {
        isForgotten = true;
        await forgotten.query('BEGIN');
      }
      return (isForgotten ? forgotten : pool).query(sql, params);
    };
    const failure = await failureOf(
      sqlSupport({ query, dialect: 'postgres', ...own }).getNextWorkId(request()),
    );
    await forgotten.query('ROLLBACK');
    expect(failure.message).toContain('inside a transaction');
  });

  it('reports a read-only server as not the primary, and retries', async () => {
    const readOnly = lab.pool({ options: '-c default_transaction_read_only=on' });
    const support = postgresSupport({ pool: readOnly, ...named() });
    expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
      message: expect.stringContaining('Name the primary') as unknown,
    });
  });

  it('names the command if the table is missing, and the columns if it is that of 0.1.0', async () => {
    const missing = postgresSupport({ pool, table: 'nowhere', namespace: 'shop' });
    const text = (await failureOf(missing.getNextWorkId(request()))).message;
    expect(text).toContain('snowflake registry create');
    const table = `other_${lab.table.slice(0, 30)}`;
    await pool.query(
      `CREATE TABLE ${table} (namespace varchar(200), worker_id bigint, version bigint, ` +
        `ceiling bigint, token varchar(200), data text, PRIMARY KEY (namespace, worker_id))`,
    );
    const other = postgresSupport({ pool, table });
    for (const asked of [other.getNextWorkId(request()), other.workers()]) {
      expect((await failureOf(asked)).message).toContain('not have the expected columns');
    }
    await pool.query(`DROP TABLE ${table}`);
  });

  it.each<[string, (answer: unknown) => unknown]>([
    ['nothing', () => undefined],
    ['no rows', () => []],
    ['rows of something else', () => [{ something: 1 }]],
    ['names in other letter case', (answer) => upper(answer)],
    ['a text', () => 'SELECT 1'],
  ])('treats %s as an error, not as a response', async (_what, odd) => {
    const query: SqlQuery = async (sql, params) => odd(await pool.query(sql, params));
    const support = sqlSupport({ query, dialect: 'postgres', ...named() });
    expect((await failureOf(support.getNextWorkId(request()))).message).toContain(
      'returned something unexpected',
    );
  });

  it('does not write if a driver failed silently', async () => {
    const query: SqlQuery = async (sql, params) =>
      sql.startsWith('WITH') ? [] : pool.query(sql, params);
    const support = sqlSupport({ query, dialect: 'postgres', ...named() });
    expect((await failureOf(support.getNextWorkId(request()))).message).toContain('no row');
  });

  it("fails with the cause if a write needs the server's settings again", async () => {
    let isAway = false;
    const query: SqlQuery = async (sql, params) => {
      if (isAway) throw Object.assign(new Error('terminating connection'), { code: '57P01' });
      const answer = await pool.query(sql, params);
      isAway = sql.includes('LEFT JOIN');
      // Another call fails between the read and the write.
      if (isAway) await failureOf(support.workers());
      return answer;
    };
    const support = sqlSupport({ query, dialect: 'postgres', ...named() });
    expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
    });
  });

  it('works after its connection was killed and the header was deleted', async () => {
    const { table, namespace } = named();
    const query = `table=${table}&namespace=${namespace}&replicated=false`;
    const support = supportFromUrl(`${process.env['DATABASE_URL']!}?${query}`);
    const { workerId } = await leased(support);
    // Only its own sessions: other specs use the same name on this server.
    const { rows } = await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ` +
        `application_name = 'nestjs-snowflake' AND query LIKE $1`,
      [`%${table}%`],
    );
    expect(rows).toHaveLength(1);
    // The first call may be the one that detects it.
    await support.workers().catch(() => undefined);
    expect(await idsOf(support)).toEqual([workerId]);
    await pool.query(`DELETE FROM ${table} WHERE namespace = $1 AND name = '|'`, [namespace]);
    const next = await leased(support);
    expect(next.floorMs).toBeGreaterThan(next.nowMs! + 59_000);
    await support.close();
    expect(await failureOf(support.workers())).toMatchObject({ code: 'NOT_READY' });
    await leased(support);
    await support.close();
  });
});

function upper(answer: unknown): unknown {
  const { rows } = answer as { rows: Record<string, unknown>[] };
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toUpperCase(), value])),
  );
}

/*
 * The server continues under its name, without the commits that had not reached the disk.
 */
describe('a killed backend with synchronous_commit off', () => {
  it.each([
    ['keeps every lease', (query: SqlQuery) => query, 1],
    [
      'would lose it without the condition',
      (query: SqlQuery) => broken(query, POSTGRES_DURABLY, 'true'),
      0,
    ],
  ] as const)('%s', async (_what, by, count) => {
    const { own, crashed, stop } = await lab.unwritten(registryTable('postgres', lab.table));
    const query = by((sql, params) => own.query(sql, params));
    await leased(postgresSupport({ pool: { query }, ...named() }));
    const sql = `SELECT 1 FROM ${lab.table} WHERE name <> '|' AND number > 0`;
    expect((await (await crashed()).query(sql)).rows.length).toBe(count);
    await stop();
  });

  it.each([
    ['loses a release without later writes', (query: SqlQuery) => query, 'held'],
    [
      'would keep it with a synchronous commit',
      (query: SqlQuery) => broken(query, POSTGRES_SOON, POSTGRES_DURABLY),
      'ok',
    ],
  ] as const)('keeps every grant of a lock, and %s', async (_what, by, last) => {
    const { own, crashed, stop } = await lab.unwritten(registryTable('postgres', lab.table));
    const storeOf = (database: Pool) => {
      const query = by((sql, params) => database.query(sql, params));
      return sqlLocks({ pool: { query }, dialect: 'postgres', ...named(), namespace: 'shop' });
    };
    const [store, long] = [storeOf(own), { ttlMs: 600_000, longestMs: 600_000 }];
    await heldIn(store, namedLock('first', { ttlMs: 100, longestMs: 100 }));
    await store.release(await heldIn(store, namedLock('passed', long)));
    const { token } = await heldIn(store, namedLock('passed', long));
    await store.release(await heldIn(store, namedLock('released', long)));
    const again = await crashed();
    const asked = (lock: string) => storeOf(again).acquire(namedLock(lock, long));
    expect(await asked('passed')).toMatchObject({ status: 'held', token });
    expect(await asked('released')).toMatchObject({ status: last });
    await stop();
  });
});

describe('MariaDB', () => {
  it.each([
    ['without autocommit', 'SET autocommit = 0', 'autocommit is off'],
    ['inside a transaction', 'START TRANSACTION', 'inside a transaction'],
    ['with its own time', 'SET timestamp = 1000000000', 'SET timestamp'],
    ['without escapes', `SET sql_mode = 'NO_BACKSLASH_ESCAPES'`, 'NO_BACKSLASH_ESCAPES'],
    ['that is read only', 'SET SESSION TRANSACTION READ ONLY', 'Name the primary'],
  ])('refuses a session %s', async (_what, before, message) => {
    const client = await mysql.getConnection();
    await client.query(before);
    const support = mysqlSupport({ pool: client, ...named() });
    const failure = await failureOf(support.getNextWorkId(request()));
    await client.query('ROLLBACK');
    client.destroy();
    expect(failure.message).toContain(message);
  });

  it('leases by a URL with one connection, which close() ends', async () => {
    const { table, namespace } = named();
    const support = supportFromUrl(
      `${process.env['MYSQL_URL']!}?table=${table}&namespace=${namespace}&replicated=false`,
    );
    const { workerId } = await leased(support);
    expect(await idsOf(support)).toEqual([workerId]);
    expect((await support.advice()).join()).toContain('innodb_flush_log_at_trx_commit is 0');
    await support.close();
    expect(await failureOf(support.workers())).toMatchObject({ code: 'NOT_READY' });
  });

  it('treats a response that does not count as an error', async () => {
    const query: SqlQuery = async (sql, params) =>
      /^(SELECT|SHOW)/.test(sql) ? mysql.execute(sql, params) : [];
    const support = sqlSupport({ query, dialect: 'mysql', ...named() });
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure.message).toContain('affectedRows');
  });
});

describe('a DataSource of TypeORM', () => {
  const migrations = [CreateSnowflakeRegistry1767225600000];
  it.each([
    ['postgres', { url: process.env['DATABASE_URL']! }],
    ['mysql', { url: process.env['MYSQL_URL']! }],
    ['better-sqlite3', { database: ':memory:', driver: Database }],
  ] as const)('of %s creates its table by a migration, and leases', async (type, options) => {
    const dataSource = await new DataSource({ type, ...options, migrations } as never).initialize();
    await dataSource.runMigrations();
    const support = sqlSupport({ dataSource, namespace: randomUUID(), replicated: false });
    const first = await leased(support);
    expect((await leased(support)).workerId).not.toBe(first.workerId);
    expect((await idsOf(support)).length).toBe(2);
    await dataSource.undoLastMigration();
    await dataSource.destroy();
  });
});

describe('a SQLite handle', () => {
  it('does not lease while a transaction of the application is open', async () => {
    const database = new Database(':memory:');
    database.exec(registryTable('sqlite'));
    const support = sqliteSupport({ database });
    database.exec('BEGIN');
    expect((await failureOf(support.getNextWorkId(request()))).message).toContain('stays open');
    database.exec('ROLLBACK');
    await leased(support);
  });

  it.each(['WAL', 'DELETE'])(
    'is refused permanently after its file was replaced, in %s',
    async (mode) => {
      const folder = mkdtempSync(join(tmpdir(), 'moved-'));
      const path = join(folder, 'shop.db');
      const database = new Database(path);
      database.prepare(`PRAGMA journal_mode = ${mode}`).all();
      database.exec(registryTable('sqlite'));
      const support = sqliteSupport({ database });
      await leased(support);
      writeFileSync(join(folder, 'other.db'), '');
      renameSync(join(folder, 'other.db'), path);
      for (let count = 0; count < 3; count++) {
        const failure = await failureOf(support.getNextWorkId(request()));
        expect(failure.message).toContain('was replaced');
      }
      rmSync(path);
      expect((await failureOf(support.getNextWorkId(request()))).message).toContain('was replaced');
      database.close();
      rmSync(folder, { recursive: true });
    },
  );

  it('names the missing right if a file cannot be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lost-'));
    const path = join(folder, 'shop.db');
    const database = new Database(path);
    database.prepare('PRAGMA journal_mode = WAL').all();
    database.exec(registryTable('sqlite'));
    rmSync(`${path}-wal`);
    const newcomer = supportFromUrl(`sqlite:${path}`);
    const failure = await failureOf(newcomer.getNextWorkId(request()));
    expect(failure.message).toContain('deleted the -wal');
    await newcomer.close();
    database.close();
    rmSync(folder, { recursive: true });
  });
});

describe('a SQLite file with other writers', () => {
  it('keeps each acknowledged write, even if it was locked first', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'snowflake-locked-')), 'shop.db');
    const [own, other] = [new Database(path), new Database(path)];
    own.exec('CREATE TABLE written (number int)');
    const { query } = sqliteHandle(own);
    const write = () => query('INSERT INTO written VALUES (1) RETURNING 1', []);
    const count = () => other.prepare('SELECT count(*) AS rows FROM written').all();
    other.exec('BEGIN IMMEDIATE');
    await expect(write()).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
    other.exec('COMMIT');
    await write();
    expect(count()).toEqual([{ rows: 1 }]);
    // This reader prevents others from committing.
    other.exec('BEGIN');
    count();
    await expect(write()).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
    other.exec('COMMIT');
    expect(count()).toEqual([{ rows: 1 }]);
    await write();
    expect(count()).toEqual([{ rows: 2 }]);
    rmSync(dirname(path), { recursive: true });
  });
});
