/**
 * Counters in databases inside the process keep the contract: SQLite in a file, and PGlite.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { startSnowflake } from 'nestjs-snowflake';
import { POSTGRES_HISTORY, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { SQLITE_TIME, SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import { counterTable, sqlCounters } from '../../lib/stores/sql/index.js';
import { countersFromUrl } from '../../lib/stores/sql/sql-counters.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import { checkedOptions } from '../../lib/stores/sql/sql-options.js';
import { RowCounters } from '../../lib/counters/row-counters.js';
import { describeCounterStore } from '../../lib/testing/index.js';
import { failureOf } from '../stores/redis-lab.js';
import { COUNTERS, sqlCounterStore } from './settable-sql-counters.js';
import { quickFolder } from '../support/quick-folder.mjs';
import { freshPglite } from '../support/fresh-pglite.mjs';

const folder = quickFolder('counters');
const path = join(folder, 'counters.db');
let database: InstanceType<typeof Database>;
let pglite: PGlite;
const opened: RowCounters[] = [];

beforeAll(async () => {
  database = new Database(path);
  database.exec(counterTable('sqlite', COUNTERS));
  pglite = await freshPglite();
  await pglite.exec(counterTable('postgres', COUNTERS));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});
afterAll(async () => {
  await pglite.close();
  database.close();
  rmSync(folder, { recursive: true });
});

describe('sqlCounters on SQLite, told the time by the test', () => {
  const IDENTITY = `'the file'`;
  describeCounterStore({
    test: it,
    expect,
    ...sqlCounterStore({
      query: () => async (sql, params) => database.prepare(sql).all(...params),
      time: SQLITE_TIME,
      servers: [IDENTITY],
      mark: () => '?',
      store: (query, options) =>
        new RowCounters(
          new SqlRows({
            ...checkedOptions(options),
            holds: 'counters',
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

  it('is refused where a power failure would lose what was granted', async () => {
    const handle = new Database(path);
    handle.exec('PRAGMA synchronous = NORMAL');
    const store = sqlCounters({ database: handle, table: COUNTERS });
    const failure = await failureOf(store.create({ counter: 'c', start: 1n }));
    expect(failure.message).toContain('PRAGMA synchronous');
    handle.close();
  });
});

describe('segments+sqlite:', () => {
  it('count on in the file that its URL names', async () => {
    const namespace = randomUUID();
    const terms = `table=${COUNTERS}&namespace=${namespace}&counter=order&startAt=7&stepMin=10`;
    const generator = `segments+sqlite:${path}?${terms}`;
    const first = await startSnowflake({ generator });
    expect(first.ids.nextIds(3)).toEqual([7n, 8n, 9n]);
    await first.close();
    const second = await startSnowflake({ generator });
    // What was in hand was given back.
    expect(second.ids.nextId()).toBe(10n);
    expect(second.ids.status).toMatchObject({ kind: 'segments', state: 'active' });
    await second.close();
  });
});

describe('sqlCounters on PGlite, told the time by the test', () => {
  describeCounterStore({
    test: it,
    expect,
    ...sqlCounterStore({
      query: () => (sql, params) => pglite.query(sql, params),
      time: POSTGRES_TIME,
      servers: [POSTGRES_HISTORY],
      mark: (number) => `$${number}::text`,
      store: (query, options) => sqlCounters({ pool: { query }, dialect: 'postgres', ...options }),
    }),
  });
});

describe('sqlCounters on PGlite', () => {
  it('know it by its history', async () => {
    const store = sqlCounters({
      pool: pglite,
      dialect: 'postgres',
      table: COUNTERS,
      replicated: false,
    });
    expect(await store.create({ counter: 'c', start: 2n ** 60n })).toBe(true);
    const take = { kind: 'dense', counter: 'c', count: 1n, have: 0n, skip: 10n } as const;
    expect(await store.take(take)).toMatchObject({ status: 'ok', first: 2n ** 60n });
  });
});
