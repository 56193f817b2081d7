/**
 * PostgreSQL behind a PgBouncer that gives each statement whichever connection is free keeps the
 * contract, with the time and the server in the hands of the test.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { POSTGRES_SERVER, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { postgresSupport, registryTable } from '../../lib/stores/sql/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { startPgbouncer } from '../../scripts/servers/start-pgbouncer.mjs';
import { sqlStore } from './settable-sql.js';

const TABLE = 'contract_pgbouncer';
let bouncer: Awaited<ReturnType<typeof startPgbouncer>>;
let pool: Pool;

beforeAll(async () => {
  const url = process.env['DATABASE_URL']!;
  bouncer = await startPgbouncer(url, { pool_mode: 'transaction', default_pool_size: 4 });
  pool = new Pool({ connectionString: bouncer.url, max: 20 });
  await pool.query(registryTable('postgres', TABLE));
});
afterAll(async () => {
  await pool.end();
  await bouncer.stop();
});

describe('postgresSupport behind PgBouncer, told the time by the test', () => {
  describeDistributedSupport({
    test: it,
    expect,
    ...sqlStore({
      query: () => (sql, params) => pool.query(sql, params),
      table: TABLE,
      time: POSTGRES_TIME,
      server: POSTGRES_SERVER,
      mark: (number) => `$${number}::text`,
      support: (query, options) => postgresSupport({ pool: { query }, ...options }),
    }),
  });
});
