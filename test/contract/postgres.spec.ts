/**
 * PostgreSQL keeps the contract: the support as applications use it, once with the time and the
 * server in the hands of the test, once by the server's own clock, where that is enough.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { POSTGRES_SERVER, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { postgresSupport, registryTable } from '../../lib/stores/sql/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { sqlStore } from './settable-sql.js';

const TABLE = 'contract_registry';
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 20 });
  await pool.query(registryTable('postgres', TABLE));
});
afterAll(() => pool.end());

describe('postgresSupport, told the time by the test', () => {
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

describe('postgresSupport', () => {
  const run = randomUUID();

  describeDistributedSupport({
    // Each waits for a quarantine by a real clock: a few at once, each in a registry of its own.
    test: it.concurrent,
    expect,
    createSupport: (name) =>
      postgresSupport({
        pool,
        table: TABLE,
        namespace: `${run}/${name.replaceAll(' ', '_')}`,
        // The suite waits for the quarantine of each new registry.
        replicated: false,
      }),
    leaveOut: ['clock', 'losses', 'version'],
  });
});
