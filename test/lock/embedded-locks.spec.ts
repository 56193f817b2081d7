/**
 * Locks in databases inside the process keep the contract: SQLite in a file, and PGlite.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { POSTGRES_SERVER, POSTGRES_TIME } from '../../lib/stores/sql/dialects/postgres.js';
import { SQLITE_TIME, SqliteDialect } from '../../lib/stores/sql/dialects/sqlite.js';
import { lockTable, sqlLocks } from '../../lib/stores/sql/index.js';
import { locksFromUrl } from '../../lib/stores/sql/sql-locks.js';
import { SqlRows } from '../../lib/stores/sql/sql-rows.js';
import { checkedOptions } from '../../lib/stores/sql/sql-options.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { heldIn, namedLock, readySpaces } from './held-locks.js';
import { LOCKS, sqlLockStore } from './settable-locks.js';
import { quickFolder } from '../support/made-once.mjs';
import { freshPglite } from '../support/fresh-pglite.mjs';

const folder = quickFolder('locks');
const path = join(folder, 'locks.db');
let database: InstanceType<typeof Database>;
let pglite: PGlite;

beforeAll(async () => {
  database = new Database(path);
  database.exec(lockTable('sqlite', LOCKS));
  pglite = await freshPglite();
  await pglite.exec(lockTable('postgres', LOCKS));
});
afterAll(async () => {
  await pglite.close();
  database.close();
  rmSync(folder, { recursive: true });
});

describe('sqlLocks on SQLite, told the time by the test', () => {
  const IDENTITY = `'the file'`;
  describeLockStore({
    test: it,
    expect,
    leaveOut: ['untilReleased'],
    ...sqlLockStore({
      query: () => async (sql, params) => database.prepare(sql).all(...params),
      time: SQLITE_TIME,
      server: IDENTITY,
      mark: () => '?',
      store: (query, options) =>
        new RowLocks(
          new SqlRows({
            ...checkedOptions(options),
            holds: 'locks',
            dialect: new SqliteDialect(IDENTITY),
            connection: { where: { text: 'SQLite', secrets: [] }, query },
          }),
        ),
    }),
  });
});

describe('sqlLocks on a URL of SQLite', () => {
  const opened: LockStore[] = [];
  let createStore: (name: string) => LockStore;
  const storeOf = (namespace: string) =>
    locksFromUrl(`sqlite:${path}?table=${LOCKS}&namespace=${encodeURIComponent(namespace)}`);
  beforeAll(async () => {
    createStore = await readySpaces(storeOf);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close!()));
  });

  describeLockStore({
    test: it,
    expect,
    createStore(name) {
      const store = createStore(name);
      opened.push(store);
      return store;
    },
    leaveOut: ['clock', 'losses', 'untilReleased'],
  });
});

describe('sqlLocks on PGlite, told the time by the test', () => {
  describeLockStore({
    test: it,
    expect,
    leaveOut: ['untilReleased'],
    ...sqlLockStore({
      query: () => (sql, params) => pglite.query(sql, params),
      time: POSTGRES_TIME,
      server: POSTGRES_SERVER,
      mark: (number) => `$${number}::text`,
      store: (query, options) => sqlLocks({ pool: { query }, dialect: 'postgres', ...options }),
    }),
  });
});

describe('sqlLocks on PGlite', () => {
  it('go by its own clock', async () => {
    const options = { dialect: 'postgres', table: LOCKS, replicated: false } as const;
    const store = sqlLocks({ pool: pglite, ...options });
    const short = { ttlMs: 200, longestMs: 200 };
    const held = await heldIn(store, namedLock('a', short));
    expect(await store.acquire(namedLock('a', short))).toMatchObject({ status: 'held' });
    await store.release(held);
    const { token } = await heldIn(store, namedLock('a', short));
    expect(token > held.token).toBe(true);
  });
});
