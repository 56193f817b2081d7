/**
 * PostgreSQL passes the contract with the support that applications use. One suite sets time and
 * server, and another uses the server's own clock for the cases that allow it.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool, type Pool as MariadbPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { MYSQL_TIME, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import { POSTGRES_SERVER, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { mysqlSupport, postgresSupport, registryTable } from '../../lib/stores/sql/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { startPgbouncer } from '../../scripts/servers/start-pgbouncer.mjs';
import { endpointOf, type EtcdKeys, settableEtcd } from '../stores/etcd-lab.js';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';
import { sqlStore } from './settable-stores.js';

const postgresStore = (table: string, pool: () => Pool) =>
  sqlStore({
    query: () => (sql, params) => pool().query(sql, params),
    table,
    time: POSTGRES_TIME,
    server: POSTGRES_SERVER,
    mark: (number) => `$${number}::text`,
    support: (query, options) => postgresSupport({ pool: { query }, ...options }),
  });

describe('postgres', () => {
  const TABLE = 'contract_registry';
  let pool: Pool;

  beforeAll(async () => {
    pool = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 20 });
    await pool.query(registryTable('postgres', TABLE));
  });
  afterAll(() => pool.end());

  describe('postgresSupport with a test clock', () => {
    describeDistributedSupport({
      test: it,
      expect,
      ...postgresStore(TABLE, () => pool),
    });
  });

  describe('postgresSupport', () => {
    const run = randomUUID();

    describeDistributedSupport({
      // Each case waits for a quarantine by a real clock, so a few run at once.
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
});

/*
 * MariaDB passes the contract with the support that applications use. One suite sets time and
 * server, and another uses the server's own clock for the cases that allow it.
 */
describe('mariadb', () => {
  const TABLE = 'contract_registry';
  const RUN = randomUUID();
  let pool: MariadbPool;

  beforeAll(async () => {
    pool = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 });
    await pool.query(registryTable('mysql', TABLE));
  });
  afterAll(() => pool.end());

  describe('mysqlSupport with a test clock', () => {
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
      // Each case waits for a quarantine by a real clock, so a few run at once.
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
});

/*
 * PostgreSQL behind PgBouncer, which runs each statement on any free connection, passes the
 * contract. The test sets time and server.
 */
describe('pgbouncer', () => {
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

  describe('postgresSupport behind PgBouncer with a test clock', () => {
    describeDistributedSupport({
      test: it,
      expect,
      ...postgresStore(TABLE, () => pool),
    });
  });
});

async function setVersion(keys: EtcdKeys, version: string): Promise<void> {
  const value = (await keys.all()).get('header')!;
  const [server, text = ''] = value.split('\n');
  const header = JSON.stringify({ ...(JSON.parse(text) as object), version });
  await keys.put('header', `${server}\n${header}`);
}

/*
 * etcd passes the contract with the support that applications use. One suite sets time and
 * server, and another uses the server's own clock for the cases that allow it.
 */
describe('the etcd support with a test clock', () => {
  const { clockControl, lossControl, keysOf, made, end } = settableEtcd<RegistrySupport>(() =>
    endpointOf(process.env['ETCD_URL']!),
  );
  afterEach(end);

  describeDistributedSupport({
    test: it,
    expect,
    clockControl,
    lossControl,
    createSupport: (name) =>
      made(name, (options) => etcdSupport({ ...options, clockDifferenceMs: LOSS_WINDOW_MS })),
    versionControl: {
      raise: (name) => setVersion(keysOf(name), '3'),
      lower: (name) => setVersion(keysOf(name), '2'),
    },
  });
});

describe('the etcd support', () => {
  const run = randomUUID();
  const opened: RegistrySupport[] = [];
  afterAll(async () => {
    await Promise.all(opened.splice(0).map((support) => support.close()));
  });

  describeDistributedSupport({
    // Each case waits for a quarantine by a real clock, so a few run at once.
    test: it.concurrent,
    expect,
    createSupport(name) {
      // A single member has only one clock.
      const settings = `namespace=${name}-${run}&requestTimeoutMs=60000&clockDifferenceMs=0`;
      const url = `${process.env['ETCD_URL']!}?${settings}`;
      const support = supportFromUrl(url);
      opened.push(support);
      return support;
    },
    leaveOut: ['clock', 'losses', 'version'],
  });
});
