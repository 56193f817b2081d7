/**
 * MariaDB keeps the contract: the support as applications use it, once with the time and the server
 * in the hands of the test, once by the server's own clock, where that is enough.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool, type Pool } from 'mysql2/promise';
import { MYSQL_TIME, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import { mysqlSupport, registryTable } from '../../lib/stores/sql/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { sqlStore } from './settable-sql.js';

const TABLE = 'contract_registry';
const RUN = randomUUID();
let pool: Pool;

beforeAll(async () => {
  pool = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
  await pool.query(registryTable('mysql', TABLE));
});
afterAll(() => pool.end());

describe('mysqlSupport, told the time by the test', () => {
  describeDistributedSupport({
    test: it,
    expect,
    ...sqlStore({
      query: () => (sql, params) => pool.execute(sql, params),
      table: TABLE,
      time: MYSQL_TIME,
      server: mysqlServer(true, 'server_uid'),
      mark: () => '?',
      support: (execute, options) => mysqlSupport({ pool: { execute }, ...options }),
    }),
  });
});

describe('mysqlSupport', () => {
  describeDistributedSupport({
    // Each waits for a quarantine by a real clock: a few at once, each in a registry of its own.
    test: it.concurrent,
    expect,
    createSupport: (name) =>
      mysqlSupport({
        pool,
        table: TABLE,
        namespace: `${RUN}/${name.replaceAll(' ', '_')}`.slice(0, 120),
        // The suite waits for the quarantine of each new registry.
        replicated: false,
      }),
    leaveOut: ['clock', 'losses', 'version'],
  });
});
