/**
 * What stands between an application and its database, and what is found where another database
 * was meant: PgBouncer, a standby, a server that is read only, a user who lacks a right.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import {
  mysqlSupport,
  postgresSupport,
  registryTable,
  sqlSupport,
} from '../../lib/stores/sql/index.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-query.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPgbouncer } from '../../scripts/servers/start-pgbouncer.mjs';
import { startWithStandby } from '../../scripts/servers/start-postgres.mjs';
import { command } from '../cli/run-command.js';
import { until } from '../until.js';
import { failureOf, request } from './redis-lab.js';
import { SqlLab } from './sql-lab.js';
import { leased } from './sql-leases.js';

const lab = new SqlLab();
afterAll(() => lab.end());

const named = () => ({ table: lab.table, namespace: randomUUID(), replicated: false });
const textOf = (options: object) =>
  Object.entries(options)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');

async function workerIdsOf(supports: readonly IDistributedSupport[]): Promise<Set<number>> {
  const grants = await Promise.all(supports.map((support) => leased(support)));
  return new Set(grants.map(({ workerId }) => workerId));
}

/** As many processes at once. */
const eight = (support: IDistributedSupport) => Array.from({ length: 8 }, () => support);

describe.each(['transaction', 'statement'])('PgBouncer that pools by %s', (pool_mode) => {
  let bouncer: Awaited<ReturnType<typeof startPgbouncer>>;
  beforeAll(async () => {
    await lab.postgresTable();
    bouncer = await startPgbouncer(process.env['DATABASE_URL']!, {
      pool_mode,
      default_pool_size: 2,
    });
  });
  afterAll(() => bouncer.stop());

  it('serves processes that lease by URL, each with one connection', async () => {
    const url = `${bouncer.url}?${textOf(named())}`;
    const supports = [1, 2, 3, 4].map(() => supportFromUrl(url));
    expect((await workerIdsOf(supports)).size).toBe(4);
    await Promise.all(supports.map((support) => support.close()));
  });

  it('serves many at once by a pool', async () => {
    const pool = lab.unkept({ connectionString: bouncer.url, max: 20 });
    const support = postgresSupport({ pool, ...named() });
    expect((await workerIdsOf(eight(support))).size).toBe(8);
    await pool.end();
  });

  it('is found again by a process after it was started anew', async () => {
    const settings = { pool_mode, listen_port: bouncer.port };
    const support = supportFromUrl(`${bouncer.url}?${textOf(named())}`);
    const { workerId } = await leased(support);
    await bouncer.stop();
    expect(await failureOf(support.workers())).toMatchObject({ retryable: true });
    bouncer = await startPgbouncer(process.env['DATABASE_URL']!, settings);
    expect(await support.workers()).toMatchObject([{ workerId }]);
    await support.close();
  });
});

describe('a pool of one connection', () => {
  it('serves many at once', async () => {
    await lab.mysqlTable();
    const pool = lab.pool({ max: 1 });
    expect((await workerIdsOf(eight(postgresSupport({ pool, ...named() })))).size).toBe(8);
    const mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 1 });
    expect((await workerIdsOf(eight(mysqlSupport({ pool: mysql, ...named() })))).size).toBe(8);
    await mysql.end();
  });
});

describe('a standby of PostgreSQL', () => {
  let primary: Awaited<ReturnType<typeof startWithStandby>>['primary'];
  let standby: typeof primary;
  const [pools, location] = [[] as Pool[], named()];

  beforeAll(async () => {
    ({ primary, standby } = await startWithStandby());
    pools.push(...[primary, standby].map(({ url }) => lab.unkept({ connectionString: url })));
    await pools[0]!.query(registryTable('postgres', lab.table));
    const sees = () => pools[1]!.query(`SELECT FROM ${lab.table}`).then(Boolean, () => false);
    await until(sees);
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await Promise.all([standby.stop(), primary.stop()]);
  });

  it('leases nothing and says what to name instead', async () => {
    const support = postgresSupport({ pool: pools[1]!, ...location });
    expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
      details: { refusal: 'replica' },
      message: expect.stringContaining('Name the primary') as unknown,
    });
  });

  it('is found by doctor, which finds it at its primary as well', async () => {
    const doctor = (url: string) =>
      command(['doctor', '--support', `${url}?${textOf(location)}`]).then(({ out }) => out);
    expect(await doctor(standby.url)).toMatch(/^fault +replication +This server is a replica/m);
    expect(await doctor(primary.url)).toMatch(
      /^warning +replication +A replica follows this server/m,
    );
  });

  it('gets no lease through a proxy that sends it the questions', async () => {
    const query: SqlQuery = (sql, params) =>
      pools[sql.startsWith('SELECT') ? 1 : 0]!.query(sql, params);
    const support = sqlSupport({ query, dialect: 'postgres', ...location });
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure).toMatchObject({ retryable: true, details: { refusal: 'replica' } });
    expect(failure.message).toContain('a proxy that sends reads to replicas');
  });
});

describe('a MariaDB', () => {
  let server: Awaited<ReturnType<typeof startMariadb>>;
  const location = named();
  const asShop = () => `${server.url.replace('root', 'shop')}?${textOf(location)}`;
  const refusedTo = async (url: string) => {
    const support = supportFromUrl(url);
    const failure = await failureOf(support.getNextWorkId(request()));
    await support.close();
    return failure;
  };

  beforeAll(async () => {
    server = await startMariadb(['--performance-schema=ON']);
    const root = createPool(server.url);
    await root.query(registryTable('mysql', lab.table));
    await root.query(`CREATE USER shop@'127.0.0.1'`);
    await root.query(`GRANT SELECT ON test.${lab.table} TO shop@'127.0.0.1'`);
    await root.end();
  });
  afterAll(() => server.stop());

  it('that is taken for a MySQL runs the statements for it', async () => {
    const root = createPool(server.url);
    const sent: string[] = [];
    const query: SqlQuery = async (sql, params) => {
      sent.push(sql);
      const answer = await root.execute(sql, params);
      if (!sql.startsWith('SHOW VARIABLES')) return answer;
      const told = answer[0] as unknown as { Variable_name: string; Value: string }[];
      const ofBoth = told.filter((row) => row.Variable_name !== 'server_uid');
      return ofBoth.map((row) =>
        row.Variable_name === 'version' ? { ...row, Value: '8.0.40' } : row,
      );
    };
    const support = sqlSupport({ query, dialect: 'mysql', ...location });
    expect((await workerIdsOf(eight(support))).size).toBe(8);
    const text = sent.join();
    expect(text).toContain('performance_schema.global_status');
    expect(text).not.toMatch(/in_transaction =|information_schema\.global_status|server_uid(?!')/);
    await root.end();
  });

  it('whose user may not write says which rights are needed', async () => {
    const failure = await refusedTo(asShop());
    expect(failure).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
    expect(failure.message).toContain('SELECT, INSERT and UPDATE');
  });

  it('that is read only leases nothing, and says what to name instead', async () => {
    const root = createPool(server.url);
    await root.query(`GRANT INSERT, UPDATE ON test.${lab.table} TO shop@'127.0.0.1'`);
    await root.query('SET GLOBAL read_only = 1');
    const failure = await refusedTo(asShop());
    expect(failure).toMatchObject({ retryable: true, details: { refusal: 'replica' } });
    expect(failure.message).toContain('Name the primary');
    const { out } = await command(['doctor', '--support', asShop()]);
    expect(out).toMatch(/^fault +replication +This server is read-only/m);
    await root.query('SET GLOBAL read_only = 0');
    await root.end();
  });
});

describe('a URL of PostgreSQL', () => {
  it('sends one query at a time, which its driver asks for', async () => {
    const warnings: string[] = [];
    const note = (warning: Error) => warnings.push(warning.message);
    process.on('warning', note);
    const table = `at_once_${randomUUID().replaceAll('-', '')}`;
    const pool = new Pool({ connectionString: process.env['DATABASE_URL']! });
    await pool.query(registryTable('postgres', table));
    const support = supportFromUrl(`${process.env['DATABASE_URL']!}?table=${table}`);
    try {
      const lists = await Promise.all(Array.from({ length: 8 }, () => support.workers!()));
      expect(lists).toEqual(Array.from({ length: 8 }, () => []));
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', note);
      await support.close();
      await pool.query(`DROP TABLE ${table}`);
      await pool.end();
    }
  });
});
