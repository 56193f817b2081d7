/**
 * A database whose settings are changed while processes count: what a crash would then lose is
 * refused, or counts as a loss of data, from the next take on.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { counterTable, sqlCounters } from '../../lib/stores/sql/index.js';
import type { RowCounters } from '../../lib/counters/row-counters.js';
import { failureOf } from '../stores/redis-lab.js';
import { MariadbNode } from '../chaos/stores/mariadb-node.mjs';

const COUNTER = 'c';
const SKIP = 100_000n;
const TAKE = { kind: 'dense', counter: COUNTER, count: 10n, skip: SKIP, startAt: 1n } as const;
/** Longer than a second, after which MariaDB flushes whatever there is. */
const WINDOW_MS = 1500;

/** The next ten, however long the store lets wait. */
async function taken(store: RowCounters): Promise<{ first: bigint; end: bigint }> {
  for (;;) {
    const answer = await store.take({ ...TAKE, have: 0n });
    if (answer.status === 'ok') return answer;
    expect(answer.status).toBe('wait');
  }
}

describe.each([
  ['with a binary log', ['--log-bin', '--sync-binlog=1']],
  ['without one', []],
])('MariaDB %s', (_what, more) => {
  const node = new MariadbNode();
  let pool: MysqlPool;
  const open = () =>
    createPool({ host: '127.0.0.1', port: node.port, user: 'root', database: 'test' });
  const counters = (options: object) => sqlCounters({ pool, dialect: 'mysql', ...options });
  const set = (text: string) => node.sql(`SET GLOBAL ${text}`);

  beforeAll(async () => {
    await node.create(['--innodb-flush-log-at-trx-commit=1', ...more]);
    pool = open();
  });
  beforeEach(async () => {
    await set('innodb_flush_log_at_trx_commit = 1');
    await set('sync_binlog = 1');
    await pool.query('DROP TABLE IF EXISTS snowflake_counters');
    await pool.query(counterTable('mysql'));
  });
  afterAll(async () => {
    await pool.end();
    await node.stop();
  });

  const durable = ['innodb_flush_log_at_trx_commit', ...(more.length > 0 ? ['sync_binlog'] : [])];
  it.each(durable)('grants nothing by a store that loses nothing while %s is 0', async (name) => {
    const store = counters({ replicated: false });
    expect(await store.take({ ...TAKE, have: 0n })).toMatchObject({ status: 'ok', end: 11n });
    await set(`${name} = 0`);
    const failure = await failureOf(store.take({ ...TAKE, have: 0n }));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
    expect(failure.message).toContain(name);
    await set(`${name} = 1`);
    expect(await store.take({ ...TAKE, have: 0n })).toMatchObject({ status: 'ok', first: 11n });
  });

  it('writes nothing that it read while each commit was flushed', async () => {
    const execute = async (sql: string, params: (string | number | null)[]) => {
      if (sql.startsWith('UPDATE')) await set('innodb_flush_log_at_trx_commit = 2');
      return pool.execute(sql, params);
    };
    const before = counters({ replicated: false });
    await taken(before);
    const store = sqlCounters({ pool: { execute }, dialect: 'mysql', replicated: false });
    expect((await failureOf(store.take({ ...TAKE, have: 0n }))).message).toContain('flush');
    await set('innodb_flush_log_at_trx_commit = 1');
    expect(await taken(before)).toMatchObject({ first: 11n });
  });

  it('gives no number twice that a crash has lost since it flushes no commit', async () => {
    const window = { failoverWindowMs: WINDOW_MS, clockDifferenceMs: 0 };
    const store = counters(window);
    await taken(store);
    await set('innodb_flush_log_at_trx_commit = 0');
    let last = await taken(store);
    for (let count = 0; count < 50; count++) last = await taken(store);
    await node.kill();
    await node.start();
    await pool.end();
    pool = open();
    const next = await taken(counters(window));
    expect(next.first).toBeGreaterThanOrEqual(last.end);
  });
});

describe('SQLite', () => {
  it('grants nothing while its handle does not wait for the disk', async () => {
    const database = new Database(':memory:');
    database.exec(counterTable('sqlite'));
    const store = sqlCounters({ database });
    expect(await taken(store)).toMatchObject({ end: 11n });
    database.exec('PRAGMA synchronous = NORMAL');
    const failure = await failureOf(store.take({ ...TAKE, have: 0n }));
    expect(failure.message).toContain('PRAGMA synchronous');
    database.exec('PRAGMA synchronous = FULL');
    expect(await taken(store)).toMatchObject({ first: 11n });
    database.close();
  });
});
