/**
 * A table put back from a dump while its server runs: what was granted since counts as forgotten,
 * also where whoever asks first was never answered anything.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  counterTable,
  lockTable,
  mysqlSupport,
  postgresSupport,
  registryTable,
  sqlCounters,
  sqlLocks,
} from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-query.js';
import { heldIn, namedLock } from '../lock/store-locks.js';
import { until } from '../until.js';
import { failureOf, request } from './redis-lab.js';
import { SqlLab } from './sql-lab.js';
import { leased } from './sql-leases.js';

const lab = new SqlLab();
const ALONE = { replicated: false } as const;
const ONE = { workerIdMin: 0, workerIdMax: 0 } as const;
const TAKE = { kind: 'dense', counter: 'c', count: 10n, skip: 1000n, startAt: 1n } as const;
const tables = () => `put_back_${randomUUID().replaceAll('-', '')}`;

const POSTGRES = () => {
  const pool = lab.pool();
  const query: SqlQuery = (...asking) => pool.query(...asking);
  return { dialect: 'postgres', query, support: postgresSupport, given: { pool } } as const;
};
const MARIADB = () => {
  const pool = lab.mysql();
  const query: SqlQuery = (...asking) => pool.execute(...asking);
  return { dialect: 'mysql', query, support: mysqlSupport, given: { pool } } as const;
};
afterAll(() => lab.end());

describe.each([
  ['PostgreSQL', POSTGRES],
  ['MariaDB', MARIADB],
])('%s', (_name, open) => {
  let database: ReturnType<typeof open>;
  beforeAll(() => {
    database = open();
  });
  const run = (sql: string) => database.query(sql, []);

  /** What mysqldump and pg_dump write, once it is another second, which MariaDB compares. */
  async function dumped(table: string, create: string) {
    await run(`CREATE TABLE ${table}_kept AS SELECT * FROM ${table}`);
    const beganMs = Date.now();
    return async () => {
      await until(async () => Date.now() > beganMs + 1000);
      await run(`DROP TABLE ${table}`);
      await run(create);
      await run(`INSERT INTO ${table} SELECT * FROM ${table}_kept`);
      await run(`DROP TABLE ${table}_kept`);
    };
  }

  const asOf = (table: string) => {
    const { given, dialect } = database;
    return { ...given, dialect, table, namespace: 'shop' } as never;
  };

  it('leases no worker id from where the one who is forgotten may be', async () => {
    const table = tables();
    const create = registryTable(database.dialect, table);
    await run(create);
    const support = () => database.support({ ...(asOf(table) as object), ...ALONE } as never);
    await leased(support(), { workerIdMin: 1, workerIdMax: 1 });
    const putBack = await dumped(table, create);
    const forgotten = await leased(support(), ONE);
    await putBack();
    const newcomer = await leased(support(), ONE);
    expect(newcomer.workerId).toBe(forgotten.workerId);
    expect(newcomer.floorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
    await run(`DROP TABLE ${table}`);
  });

  it('jumps over the numbers that are forgotten, once', async () => {
    const table = tables();
    const create = counterTable(database.dialect, table);
    await run(create);
    const window = { failoverWindowMs: 1, clockDifferenceMs: 0 };
    const taken = async (have = 0n) => {
      const store = sqlCounters({ ...(asOf(table) as object), ...window } as never);
      for (;;) {
        const answer = await store.take({ ...TAKE, have });
        if (answer.status === 'ok') return answer;
        expect(answer.status).toBe('wait');
      }
    };
    await taken();
    const putBack = await dumped(table, create);
    await taken();
    const forgotten = await taken();
    await putBack();
    const next = await taken();
    expect(next.first).toBeGreaterThanOrEqual(forgotten.end);
    expect((await taken()).first).toBe(next.end);
    await run(`DROP TABLE ${table}`);
  });

  it('grants no lock that may be held', async () => {
    const table = tables();
    const create = lockTable(database.dialect, table);
    await run(create);
    const store = sqlLocks({ ...(asOf(table) as object), ...ALONE } as never);
    await store.release(await heldIn(store, namedLock('a')));
    const putBack = await dumped(table, create);
    const held = await heldIn(store, namedLock('a'));
    await putBack();
    expect(await store.acquire(namedLock('a'))).toMatchObject({ status: 'wait' });
    const next = await heldIn(store, namedLock('a'));
    expect(next.token > held.token).toBe(true);
    await run(`DROP TABLE ${table}`);
  });
});

describe('PostgreSQL while a dump is loaded', () => {
  it('takes no new row into a table without its key, and none with two headers', async () => {
    const pool = lab.pool();
    const table = tables();
    const support = () => postgresSupport({ pool, table, namespace: 'shop', ...ALONE });
    await pool.query(registryTable('postgres', table));
    await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey`);
    const failure = await failureOf(support().getNextWorkId(request()));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(failure.message).toContain('primary key');
    await pool.query(`ALTER TABLE ${table} ADD PRIMARY KEY (namespace, worker_id)`);
    await leased(support());
    await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey`);
    await pool.query(`INSERT INTO ${table} SELECT * FROM ${table} WHERE worker_id = -1`);
    expect((await failureOf(support().getNextWorkId(request()))).message).toContain('primary key');
    await pool.query(`DROP TABLE ${table}`);
  });

  it('refuses a connection that puts each statement behind a savepoint', async () => {
    const pool = lab.pool();
    const table = tables();
    await pool.query(registryTable('postgres', table));
    const query: SqlQuery = async (sql, params) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN; SAVEPOINT one');
        return await client.query(sql, params);
      } finally {
        await client.query('COMMIT');
        client.release();
      }
    };
    const support = postgresSupport({ pool: { query }, table, namespace: 'shop', ...ALONE });
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure.message).toContain('inside a transaction');
    await pool.query(`DROP TABLE ${table}`);
  });
});
