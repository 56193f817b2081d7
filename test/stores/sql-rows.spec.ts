/**
 * Each condition of a write, in each dialect on its real server. If the data behind the condition
 * has changed, nothing is written. Without the condition, the write would happen. So each condition
 * exists and is necessary.
 */
import Database from 'libsql';
import pg from 'pg';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { PoolConnection } from 'mysql2/promise';
import type { Pool, PoolClient } from 'pg';
import { HEADER_KEY, type Row, type RowSnapshot } from '../../lib/rows/row-store.js';
import { snapshotIn } from '../../lib/stores/sql/dialects/dialect.js';
import { MysqlDialect, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import { POSTGRES_SERVER, PostgresDialect } from '../../lib/stores/sql/dialects/postgres.js';
import { SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import {
  registryTable,
  postgresSupport,
  sqlCounters,
  sqlLocks,
} from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import { namedLock, heldIn } from '../lock/held-locks.js';
import { until } from '../until.js';
import { failureOf, request } from './redis-lab.js';
import { broken, SqlLab } from './sql-lab.js';
import { PostgresNode } from '../chaos/stores/postgres.mjs';

describe('sql conditions', () => {
  const lab = new SqlLab();
  const sqlite = new Database(':memory:');
  const queries: Record<string, SqlQuery> = {};

  beforeAll(async () => {
    const [pool, mysql] = [await lab.postgresTable(), await lab.mysqlTable()];
    sqlite.exec(registryTable('sqlite', lab.table));
    queries['postgres'] = (sql, params) => pool.query(sql, params);
    queries['mysql'] = (sql, params) => mysql.execute(sql, params);
    queries['sqlite'] = async (sql, params) => sqlite.prepare(sql).all(...params);
  });
  afterAll(() => lab.end());

  /** Each condition with its text, and its replacement in the mutant. */
  const DIALECTS = [
    {
      name: 'postgres',
      dialect: () => new PostgresDialect(),
      header: [/h\.version = /, '0 <> '],
      server: [new RegExp(`${escaped(POSTGRES_SERVER)} = (?=\\$)`), "'' <> "],
      own: [/ AND version = /, ' AND 0 <> '],
      time: [/ AND number = /, ' AND -1 <> '],
    },
    {
      name: 'mysql',
      dialect: () => new MysqlDialect(),
      header: [/h\.version = /, '0 <> '],
      server: [new RegExp(`${escaped(mysqlServer(true, 'server_uid'))} = (?=\\?)`), "'' <> "],
      own: [/ AND version = /, ' AND 0 <> '],
      time: [/ AND number = /, ' AND -1 <> '],
    },
    {
      name: 'sqlite',
      dialect: () => new SqliteDialect(),
      header: [/h\.version = /, '0 <> '],
      server: [/'\{file of \w+\}' = (?=\?)/, "'' <> "],
      own: [/ AND version = /, ' AND 0 <> '],
      time: [/ AND number = /, ' AND -1 <> '],
    },
  ] as const;

  function escaped(text: string): string {
    return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  }

  const HEADER: Row = { key: HEADER_KEY, number: 5n, text: '{"header":1}' };
  const slot = (number: bigint): Row => ({
    key: '7',
    number,
    token: 'token',
    text: `{"text":"of \\"${number}\\" 'ü' \\\\ ☃"}`,
  });

  describe.each(DIALECTS)('$name', ({ name, dialect, ...conditions }) => {
    const storeBy = (query: SqlQuery, namespace: string) =>
      new SqlRows({
        kind: 'registry',
        namespace,
        table: lab.table,
        lossWindowMs: 0,
        dialect: dialect(),
        connection: { where: { text: name, secrets: [] }, query },
      });

    /** A header and a slot, as read by two processes. */
    async function stored() {
      const query = queries[name]!;
      const namespace = randomUUID();
      const store = storeBy(query, namespace);
      const { server } = await store.read({ keys: [HEADER_KEY, '7'] });
      const rows = [{ row: slot(1000n), version: undefined }];
      const before = { server, headerVersion: undefined, headerNumber: 0n };
      await store.write({ ...before, header: HEADER, rows });
      const snapshot = await store.read({ keys: [HEADER_KEY, '7'] });
      const headerVersion = snapshot.rows.find(({ key }) => key === HEADER_KEY)!.version;
      const mutant = (part: keyof typeof conditions) => {
        const [from, to] = conditions[part];
        return storeBy(broken(query, from, to), namespace);
      };
      const header = { server, headerVersion, headerNumber: HEADER.number };
      const update = { ...header, rows: [{ row: slot(2000n), version: 1 }] };
      const insert = {
        ...update,
        rows: [{ row: { ...slot(2000n), key: '8' }, version: undefined }],
      };
      return { namespace, store, snapshot, mutant, update, insert };
    }

    it('reads what was written, and counts the writes', async () => {
      const { store, snapshot, update } = await stored();
      expect(snapshot.rows).toContainEqual({ ...slot(1000n), version: 1 });
      expect(await store.write(update)).toBe(true);
      const { rows } = await store.read({ keys: [HEADER_KEY], token: 'token' });
      expect(rows).toContainEqual({ ...slot(2000n), version: 2 });
      expect(await store.ceilings(0, 10)).toEqual([{ key: '7', number: 2000n }]);
    });

    it('writes only within the time limits', async () => {
      const { store, snapshot, update } = await stored();
      const { timeMs } = snapshot;
      const between = (fromMs: number, toMs: number) =>
        store.write({ ...update, betweenMs: [timeMs + fromMs, timeMs + toMs] });
      expect(await between(-20_000, -10_000)).toBe(false);
      expect(await between(600_000, 700_000)).toBe(false);
      expect(await between(0, 600_000)).toBe(true);
    });

    it('reads for each concurrent caller its own rows, in one statement', async () => {
      const sent: string[] = [];
      const counting: SqlQuery = (sql, params) => {
        if (sql.includes('r.name')) sent.push(sql);
        return queries[name]!(sql, params);
      };
      const store = storeBy(counting, (await stored()).namespace);
      const asked = Array.from({ length: 40 }, (_, at) => ({ keys: [String(at)] }));
      const questions = [...asked, { keys: [HEADER_KEY], token: 'token' }, { keys: [HEADER_KEY] }];
      const found = await Promise.all(questions.map((question) => store.read(question)));
      const keysIn = ({ rows }: RowSnapshot) => rows.map(({ key }) => key).toSorted();
      const expected = asked.map(({ keys }) => (keys[0] === '7' ? ['7'] : []));
      expect(found.map(keysIn)).toEqual([...expected, ['7', HEADER_KEY], [HEADER_KEY]]);
      expect(sent).toHaveLength(1);
      expect(new Set(found.map(({ timeMs }) => timeMs)).size).toBe(1);
    });

    it('returns time and server even if it is empty', async () => {
      const snapshot = await storeBy(queries[name]!, randomUUID()).read({
        keys: [HEADER_KEY, '1'],
        token: 't',
      });
      expect(snapshot).toMatchObject({ rows: [], server: expect.stringMatching(/./) as unknown });
      expect(Math.abs(snapshot.timeMs - Date.now())).toBeLessThan(60_000);
    });

    it('writes no row that has changed', async () => {
      const { store, mutant, update } = await stored();
      const late = { ...update, rows: [{ row: slot(2000n), version: 5 }] };
      expect(await store.write(late)).toBe(false);
      expect(await mutant('own').write(late)).toBe(true);
    });

    it('inserts no row that exists, and overwrites none', async () => {
      const { store, update } = await stored();
      const again = { ...update, rows: [{ row: slot(2000n), version: undefined }] };
      // MySQL reports this as a key conflict, which is no answer.
      expect(await store.write(again)).not.toBe(true);
      expect(await store.write({ ...update, headerVersion: undefined, header: HEADER })).not.toBe(
        true,
      );
      const { rows } = await store.read({ keys: [HEADER_KEY, '7'] });
      expect(rows).toContainEqual({ ...slot(1000n), version: 1 });
    });

    it.each(['update', 'insert'] as const)('has the header in its %s', async (kind) => {
      const { store, mutant, [kind]: write } = await stored();
      const late = { ...write, headerVersion: write.headerVersion - 1 };
      expect(await store.write(late)).toBe(false);
      expect(await mutant('header').write(late)).toBe(true);
    });

    it('raises the time in a header, and never lowers it', async () => {
      const { store, update } = await stored();
      const told = (ms: number) => ({ ...HEADER, number: BigInt(ms) });
      const time = (ms: number, version = update.headerVersion) =>
        store.write({
          ...update,
          headerVersion: version,
          header: told(ms),
          isTimeOnly: true,
          rows: [],
        });
      const headerNow = async () => {
        const { rows } = await store.read({ keys: [HEADER_KEY] });
        const { version, number } = rows[0]!;
        return { version, ceilingMs: Number(number) };
      };
      const version = update.headerVersion;
      expect(await time(30)).toBe(true);
      expect(await headerNow()).toEqual({ version, ceilingMs: 30 });
      expect(await time(20)).toBe(true);
      await time(40, version - 1);
      expect(await headerNow()).toEqual({ version, ceilingMs: 30 });
      // Earlier reads stay valid.
      expect(await store.write(update)).toBe(true);
    });

    it('writes no header whose time has changed since the read', async () => {
      const { store, mutant, update } = await stored();
      const late = { ...update, headerNumber: 4n, header: HEADER, rows: [] };
      expect(await store.write(late)).toBe(false);
      expect(await mutant('time').write(late)).toBe(true);
    });

    it.each(['update', 'insert'] as const)('has the server in its %s', async (kind) => {
      const { store, mutant, [kind]: write } = await stored();
      const late = { ...write, server: 'another' };
      expect(await store.write(late)).toBe(false);
      expect(await mutant('server').write(late)).toBe(true);
    });

    it('lists page by page, up to the limit, and omits rows that wait', async () => {
      const namespace = randomUUID();
      const store = storeBy(queries[name]!, namespace);
      const { server } = await store.read({ keys: [HEADER_KEY] });
      const before = { server, headerVersion: undefined, headerNumber: 0n };
      await store.write({ ...before, header: HEADER, rows: [] });
      // Two and a half pages. Every fifth row waits for its first holder.
      const digits =
        'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 176)';
      const padded = 'substr(CAST(10000000000 + a.i * 177 + b.i AS CHAR(11)), 2)';
      const sql =
        `INSERT INTO ${lab.table} (namespace, kind, name, version, number, data) ${digits} ` +
        `SELECT '${namespace}', 'registry', ${padded}, 1, ` +
        `(a.i * 177 + b.i) % 5, '{}' FROM n a, n b`;
      await queries[name]!(sql, []);
      const all = (await store.readAll()).rows.map(({ key }) => key);
      const leased = Array.from({ length: 177 * 177 }, (_, n) => n).filter((n) => n % 5 > 0);
      expect(all).toEqual([HEADER_KEY, ...leased.map(String)]);
      const some = (await store.readAll(3)).rows.map(({ key }) => key);
      expect(some).toEqual([HEADER_KEY, '1', '2', '3']);
      const many = (await store.readAll(12_000)).rows;
      expect(many).toHaveLength(12_001);
    });

    it('begins each header with a version that no other header had', async () => {
      const versions = await Promise.all(
        [1, 2, 3, 4].map(async () => (await stored()).update.headerVersion),
      );
      expect(new Set(versions).size).toBe(4);
    });
  });
});

/** Writes a new row that depends on this server. */
function writerOf(rows: SqlRows, server: string) {
  const before = { server, headerVersion: undefined, headerNumber: 0n };
  return (key: string) => {
    const row = { key, number: 1n, text: 'x' };
    return rows.write({ ...before, rows: [{ row, version: undefined }] });
  };
}

/*
 * A proxy that changes the session behind a connection to MariaDB. The new session may belong to
 * another server.
 */
describe('a proxy before MariaDB', () => {
  const lab = new SqlLab();
  const keys = [HEADER_KEY];
  let sessions: PoolConnection[];
  beforeAll(async () => {
    const pool = await lab.mysqlTable();
    sessions = [await pool.getConnection(), await pool.getConnection()];
  });
  beforeEach(() => Promise.all(sessions.map((one) => one.query('SET @snowflake_server = NULL'))));
  afterAll(async () => {
    for (const session of sessions) session.release();
    await lab.end();
  });

  /** @param sessionOf which of the two sessions gets a statement, by its number */
  function rowsBy(sessionOf: (number: number) => number) {
    const sent: string[] = [];
    const query: SqlQuery = (sql, params) =>
      sessions[sessionOf(sent.push(sql))]!.execute(sql, params);
    const connection = { where: { text: 'a proxy', secrets: [] }, query, close: async () => {} };
    const parts = { namespace: randomUUID(), table: lab.table, lossWindowMs: 0 };
    const dialect = new MysqlDialect();
    return { rows: new SqlRows({ ...parts, kind: 'locks', dialect, connection }), sent };
  }
  const asking = (sent: readonly string[]) => sent.filter((sql) => sql.includes("'Uptime'"));

  it('does not write in a session whose server is unverified', async () => {
    let at = 0;
    const { rows, sent } = rowsBy(() => at);
    const { server } = await rows.read({ keys });
    const write = writerOf(rows, server);
    expect(await write('a')).toBe(true);
    expect(asking(sent)).toHaveLength(1);
    at = 1;
    expect(await write('b')).toBe(false);
    expect((await rows.read({ keys })).server).toBe(server);
    expect(await write('b')).toBe(true);
    expect(asking(sent)).toHaveLength(2);
  });

  it('verifies the server in each statement if the sessions change each time', async () => {
    const { server } = await rowsBy(() => 0).rows.read({ keys });
    const { rows, sent } = rowsBy((number) => number % 2);
    for (let count = 0; count < 3; count++)
      expect(await rows.read({ keys })).toMatchObject({ server });
    expect(asking(sent)).toHaveLength(4);
  });
});

/* The name of a server of PostgreSQL, which a session of a separate connection reads once. */
describe('the name of the server in a session of PostgreSQL', () => {
  const lab = new SqlLab();
  const keys = [HEADER_KEY];
  let sessions: PoolClient[];
  beforeAll(async () => {
    const pool = await lab.postgresTable();
    sessions = [await pool.connect(), await pool.connect()];
  });
  afterAll(async () => {
    for (const session of sessions) session.release();
    await lab.end();
  });

  function rowsBy(sessionOf: () => number, kind: 'locks' | 'counters', isOwn: boolean) {
    const query: SqlQuery = (sql, params) => sessions[sessionOf()]!.query(sql, params);
    const close = isOwn ? { close: async () => {} } : {};
    const connection = { where: { text: 'a proxy', secrets: [] }, query, ...close };
    const parts = { namespace: randomUUID(), table: lab.table, lossWindowMs: 0 };
    return new SqlRows({ ...parts, kind, dialect: new PostgresDialect(), connection });
  }
  /** The session claims to be of another server, which only a kept name believes. */
  const renamed = (name: string) =>
    sessions[1]!.query(`SELECT set_config('snowflake.cluster', '${name}', false)`);

  it('is that of the session that carries out a write, not that of an earlier one', async () => {
    let at = 0;
    const rows = rowsBy(() => at, 'locks', true);
    const { server } = await rows.read({ keys });
    const write = writerOf(rows, server);
    at = 1;
    expect(await write('a')).toBe(true);
    await renamed('another');
    expect((await rows.read({ keys })).server).toBe('another');
    expect(await write('b')).toBe(false);
    at = 0;
    expect(await write('b')).toBe(true);
    at = 1;
    await renamed('');
    expect((await rows.read({ keys })).server).toBe(server);
  });

  it.each([
    ['a pool', 'locks', false],
    ['counters', 'counters', true],
  ] as const)('is read in each statement of %s', async (_of, kind, isOwn) => {
    const rows = rowsBy(() => 1, kind, isOwn);
    const { server } = await rows.read({ keys });
    await renamed('another');
    expect((await rows.read({ keys })).server).toBe(server);
    await renamed('');
  });
});

/*
 * A database that silently performs no write. The caller gets a clear error within one call,
 * instead of an unavailable store.
 */
describe('sql refused writes', () => {
  const lab = new SqlLab();
  const name = `swallowed_${randomUUID().replaceAll('-', '')}`;
  let admin: Pool;
  let reader: Pool;

  beforeAll(async () => {
    admin = lab.pool();
    await admin.query(`CREATE ROLE ${name}`);
    reader = lab.pool({ options: `-c role=${name}` });
  });
  afterAll(async () => {
    await admin.query(`DROP TABLE IF EXISTS ${name}`);
    await admin.query(`DROP FUNCTION IF EXISTS ${name}() CASCADE`);
    await admin.query(`DROP ROLE ${name}`);
    await lab.end();
  });

  async function withTrigger(body = 'RETURN NULL;'): Promise<void> {
    await admin.query(
      `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ ` +
        `BEGIN ${body} END $$`,
    );
    await admin.query(
      `CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON ${name} ` +
        `FOR EACH ROW EXECUTE FUNCTION ${name}()`,
    );
  }

  /** All rows are readable, but an UPDATE finds none. */
  async function withRowSecurity(): Promise<void> {
    await admin.query(`GRANT SELECT, INSERT, UPDATE ON ${name} TO ${name}`);
    await admin.query(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY`);
    await admin.query(`CREATE POLICY seen ON ${name} FOR SELECT USING (true)`);
  }

  const SAYS = 'carried out none of 5 writes';
  const TAKE = {
    kind: 'dense',
    counter: 'c',
    count: 1n,
    have: 0n,
    lossGap: 2n,
    startAt: 1n,
  } as const;
  const own = { table: name, replicated: false } as const;

  const USES: [string, string, (pool: Pool) => Promise<unknown>][] = [
    [
      'a counter',
      registryTable('postgres', name),
      (pool) => sqlCounters({ pool, dialect: 'postgres', ...own }).take(TAKE),
    ],
    [
      'a lock',
      registryTable('postgres', name),
      (pool) => {
        const asked = namedLock('a', { holder: 'h', ttlMs: 100, longestMs: 100 });
        return sqlLocks({ pool, dialect: 'postgres', ...own }).acquire(asked);
      },
    ],
    [
      'a lease',
      registryTable('postgres', name),
      (pool) => postgresSupport({ pool, ...own }).getNextWorkId(request()),
    ],
  ];

  describe.each(USES)('a write that %s did not execute', (_name, create, use) => {
    beforeEach(async () => {
      await admin.query(`DROP TABLE IF EXISTS ${name}`);
      await admin.query(create);
    });

    it('is named if a trigger discards it', async () => {
      await withTrigger();
      expect((await failureOf(use(admin))).message).toContain(SAYS);
    });

    it.each([
      ['row-level security', withRowSecurity, () => reader],
      ['a trigger', () => withTrigger(), () => admin],
    ])('is named if %s followed the first', async (_what, change, pool) => {
      // A new store grants nothing for a while.
      await until(async () => {
        const answer = await use(admin);
        return (answer as { status?: string }).status !== 'wait';
      });
      await change();
      expect((await failureOf(use(pool()))).message).toContain(SAYS);
    });

    it('is no conflict with other sessions, as the database reports', async () => {
      await admin.query(`CREATE SEQUENCE ${name}_tries`);
      try {
        await withTrigger(
          `IF nextval('${name}_tries') > 11 THEN RETURN NEW; END IF; ` +
            `RAISE EXCEPTION USING ERRCODE = 'serialization_failure';`,
        );
        await expect(use(admin)).resolves.toHaveProperty('status');
      } finally {
        await admin.query(`DROP SEQUENCE ${name}_tries`);
      }
    });
  });
});

// A driver's result of one SELECT is read completely, or is an error that names the column.

const ROW = {
  time_ms: 5,
  server: 's',
  name: '|',
  number: '7',
  version: 1,
  token: null,
  data: '{}',
};

it.each(Object.keys(ROW))('is refused without its column %s', (column) => {
  const { [column]: _, ...rest } = ROW as Record<string, unknown>;
  expect(snapshotIn([ROW], 'registry').rows).toEqual([
    { key: '|', number: 7n, version: 1, text: '{}' },
  ]);
  expect(() => snapshotIn([rest], 'registry')).toThrow(`in its column ${column}`);
});

/*
 * An older copy of a database, made by the server and renamed into its place. Its rows have the
 * stamps of their original transactions, and the server is the same.
 */

describe('a copy of a PostgreSQL database in its place', () => {
  const lab = new SqlLab();
  const node = new PostgresNode();
  afterAll(async () => {
    await lab.end();
    await node.stop();
  });

  it('grants a new process nothing that is held', async () => {
    await node.create();
    const base = `postgres://postgres@127.0.0.1:${node.port}`;
    const root = lab.pool({ connectionString: `${base}/postgres` });
    await root.query('CREATE DATABASE shop');
    const newcomer = async () => {
      const pool = new pg.Pool({ connectionString: `${base}/shop` });
      return { pool, locks: sqlLocks({ pool, dialect: 'postgres', replicated: false }) };
    };
    const first = await newcomer();
    await first.pool.query(registryTable('postgres'));
    await first.locks.release(await heldIn(first.locks, namedLock('a')));
    await first.pool.end();
    await root.query('CREATE DATABASE shop_copy TEMPLATE shop');
    const holder = await newcomer();
    await heldIn(holder.locks, namedLock('a', { ttlMs: 600_000, longestMs: 600_000 }));
    await holder.pool.end();
    await root.query('ALTER DATABASE shop RENAME TO shop_old');
    await root.query('ALTER DATABASE shop_copy RENAME TO shop');
    const next = await newcomer();
    expect(await next.locks.acquire(namedLock('a'))).toMatchObject({ status: 'wait' });
    await next.pool.end();
  });
});
