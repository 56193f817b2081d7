/**
 * Embedded databases pass the contract: SQLite in a file, and PGlite.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { DataSource } from 'typeorm';
import { POSTGRES_SERVER, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { SQLITE_TIME, SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import {
  CreateSnowflakeRegistry1767225600000,
  postgresSupport,
  registryTable,
  sqlSupport,
} from '../../lib/stores/sql/index.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import { checkedOptions } from '../../lib/stores/sql/sql-options.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { leased } from '../stores/sql-lab.js';
import { sqlStore } from './settable-stores.js';
import { quickFolder } from '../support/made-once.mjs';
import { freshPglite } from '../support/made-once.mjs';

const TABLE = 'contract_registry';
const folder = quickFolder('sqlite');
const path = join(folder, 'registry.db');
let database: InstanceType<typeof Database>;
let pglite: PGlite;
const opened: RegistrySupport[] = [];

beforeAll(async () => {
  database = new Database(path);
  database.exec(registryTable('sqlite', TABLE));
  pglite = await freshPglite();
  await pglite.exec(registryTable('postgres', TABLE));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((support) => support.close()));
});
afterAll(async () => {
  await pglite.close();
  database.close();
  rmSync(folder, { recursive: true });
});

describe('SQLite with a test clock', () => {
  const IDENTITY = `'the file'`;
  describeDistributedSupport({
    test: it,
    expect,
    ...sqlStore({
      query: () => async (sql, params) => database.prepare(sql).all(...params),
      table: TABLE,
      time: SQLITE_TIME,
      server: IDENTITY,
      mark: () => '?',
      support: (query, options) =>
        new RegistrySupport(
          new SqlRows({
            ...checkedOptions(options),
            kind: 'registry',
            dialect: new SqliteDialect(IDENTITY),
            connection: { where: { text: 'SQLite', secrets: [] }, query },
          }),
        ),
    }),
  });
});

describe('sqlite: as a URL', () => {
  const run = randomUUID();
  describeDistributedSupport({
    test: it,
    expect,
    createSupport(name) {
      const namespace = encodeURIComponent(`${run}/${name.replaceAll(' ', '_')}`.slice(0, 120));
      const support = supportFromUrl(`sqlite:${path}?table=${TABLE}&namespace=${namespace}`);
      opened.push(support);
      return support;
    },
    leaveOut: ['clock', 'losses', 'version'],
  });
});

describe('PGlite with a test clock', () => {
  describeDistributedSupport({
    test: it,
    expect,
    ...sqlStore({
      query: () => (sql, params) => pglite.query(sql, params),
      table: TABLE,
      time: POSTGRES_TIME,
      server: POSTGRES_SERVER,
      mark: (number) => `$${number}::text`,
      support: (query, options) => postgresSupport({ pool: { query }, ...options }),
    }),
  });
});

describe('PGlite as the DataSource of TypeORM', () => {
  it('creates its table by a migration, and leases', async () => {
    const server = new PGLiteSocketServer({ db: pglite, host: '127.0.0.1', port: 0 });
    await server.start();
    const url = `postgres://postgres@${server.getServerConn()}/postgres`;
    const migrations = [CreateSnowflakeRegistry1767225600000];
    const dataSource = new DataSource({ type: 'postgres', url, migrations, poolSize: 1 });
    await dataSource.initialize();
    await dataSource.runMigrations();
    const support = sqlSupport({ dataSource, namespace: randomUUID(), replicated: false });
    const ids = [await leased(support), await leased(support)].map(({ workerId }) => workerId);
    expect(new Set(ids).size).toBe(2);
    await dataSource.destroy();
    await server.stop();
  });
});
