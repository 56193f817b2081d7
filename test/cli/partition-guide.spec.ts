/**
 * The guide to partitions, step by step. A migration by TypeORM or Drizzle gives a filled table
 * partitions, the functions of the guide read few of them, and the daily command maintains them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, afterEach, jest } from '@jest/globals';
import { drizzle as onPostgres } from 'drizzle-orm/node-postgres';
import { migrate as migratePostgres } from 'drizzle-orm/node-postgres/migrator';
import { drizzle as onMariadb } from 'drizzle-orm/mysql2';
import { migrate as migrateMariadb } from 'drizzle-orm/mysql2/migrator';
import { createPool } from 'mysql2/promise';
import { layouts, type BitLayout } from 'nestjs-snowflake/core';
import { Pool } from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import { blockWith } from '../docs/snippets.js';
import { ROOT } from '../tidy/tree.js';
import { DAY_MS, idAt, PartitionLab, type Dialect, dateOf, statementsIn } from './partition-lab.js';
import { readOptions } from '../../lib/cli/command.js';
import { partitions } from '../../lib/cli/commands/partitions.js';
import { layoutFrom } from '../../lib/cli/layout-option.js';
import { systemClock } from '../../lib/core/clock.js';
import { until } from '../until.js';

const GUIDE = 'docs/guides/partitions.md';
const DIALECTS: readonly Dialect[] = ['postgres', 'mariadb'];

mkdirSync(join(ROOT, '.data'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.data', 'partitions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Imports the block of the guide that contains a text, adapted to this table, as a module. */
async function example<T>(text: string, table: string, more: [string, string][] = []): Promise<T> {
  const code = more.reduce(
    (all, [from, to]) => all.replaceAll(from, to),
    blockWith(GUIDE, text).replaceAll('FROM orders', `FROM ${table}`),
  );
  const path = join(folder, `${table}-${text.replaceAll(/\W/g, '')}.ts`);
  writeFileSync(path, code);
  return (await import(path)) as T;
}

describe.each(DIALECTS)('a migration on %s', (dialect) => {
  const lab = new PartitionLab(dialect);
  beforeAll(() => lab.open());
  afterAll(() => lab.close());

  /** Returns a table with rows of four days, and the SQL that `--sql` prints for it. */
  async function given(): Promise<{ table: string; ids: bigint[]; sql: string }> {
    const table = await lab.plainTable();
    const ids = [3, 2, 1, 0].map((days) => idAt(Date.now() - days * DAY_MS));
    await lab.insert(table, ids);
    const { code, out } = await lab.command(table, '--keep', '90d', '--sql');
    expect([code, out.split('\n')[0]]).toEqual([0, expect.stringContaining(`-- Gives ${table}`)]);
    return { table, ids, sql: out };
  }

  /**
   * Returns the rows, the output of the daily command, and the partition of a row from another
   * year.
   */
  async function orderOf(table: string): Promise<unknown> {
    const ids = await lab.ids(table);
    const { code, out, err } = await lab.command(table, '--keep', '90d');
    await lab.insert(table, [FAR]);
    return { ids, code, said: out + err, rest: await lab.ids(lab.restOf(table)) };
  }
  const FAR = idAt(Date.now() + 300 * DAY_MS);
  const inOrder = { code: 0, said: 'Nothing to do.\n', rest: [FAR] };

  it('by TypeORM gives a table partitions, and its rows stay', async () => {
    const { table, ids, sql } = await given();
    const path = join(folder, `${table}-${dialect}.sql`);
    writeFileSync(path, sql);
    const { PartitionOrders1764000000000: Migration } = await example<{
      PartitionOrders1764000000000: new () => MigrationInterface;
    }>('MigrationInterface', `${table}_${dialect}`, [['migrations/partition-orders.sql', path]]);
    const type = dialect === 'postgres' ? 'postgres' : 'mariadb';
    const source = new DataSource({ type, url: lab.url, migrations: [Migration] });
    await source.initialize();
    try {
      expect((await source.runMigrations()).length).toBe(1);
    } finally {
      await source.destroy();
    }
    expect(await orderOf(table)).toEqual({ ids, ...inOrder });
  });

  it('by Drizzle gives a table partitions, and its rows stay', async () => {
    const { table, ids, sql } = await given();
    const migrationsFolder = join(folder, `${table}-${dialect}`);
    mkdirSync(join(migrationsFolder, 'meta'), { recursive: true });
    const tag = '0000_partition_orders';
    const entries = [{ idx: 0, version: '7', when: 1_764_000_000_000, tag, breakpoints: true }];
    const journal = JSON.stringify({ version: '7', dialect, entries });
    writeFileSync(join(migrationsFolder, 'meta', '_journal.json'), journal);
    writeFileSync(join(migrationsFolder, `${tag}.sql`), sql);
    if (dialect === 'postgres') {
      const pool = new Pool({ connectionString: lab.url });
      await migratePostgres(onPostgres(pool), { migrationsFolder });
      await pool.end();
    } else {
      const pool = createPool(lab.url);
      await migrateMariadb(onMariadb(pool), { migrationsFolder });
      await pool.end();
    }
    expect(await orderOf(table)).toEqual({ ids, ...inOrder });
  });
});

type Asked = { readonly sql: string; readonly values: readonly unknown[] };

/** A pool of pg for the code of the guide; it records each query. */
class NotingPool {
  readonly asked: Asked[] = [];

  constructor(private readonly lab: PartitionLab) {}

  async query(sql: string, values: readonly unknown[]): Promise<{ rows: unknown[] }> {
    this.asked.push({ sql, values });
    return { rows: await this.lab.run(filled({ sql, values })) };
  }
}

const filled = ({ sql, values }: Asked): string =>
  sql.replaceAll(/\$(\d)/g, (_, number: string) => String(values[Number(number) - 1]));

describe.each(DIALECTS)('queries on %s', (dialect) => {
  const DAYS = 90;
  const PER_DAY = 10;
  const layout = layouts.snowflake();
  const lab = new PartitionLab(dialect);
  const noonMs = (Math.floor(Date.now() / DAY_MS) - 0.5) * DAY_MS;
  const ids = Array.from({ length: DAYS * PER_DAY }, (_, n) =>
    idAt(noonMs - Math.floor(n / PER_DAY) * DAY_MS, PER_DAY - (n % PER_DAY)),
  );
  let table: string;
  beforeAll(async () => {
    await lab.open();
    table = await lab.table();
    await lab.insert(table, ids);
    await lab.command(table, '--keep', '100d');
  });
  afterAll(() => lab.close());

  const touchedBy = async (asked: readonly Asked[]): Promise<number[]> =>
    Promise.all(asked.map(async (one) => (await lab.touched(filled(one))).length));

  const idsOf = (rows: readonly unknown[]): bigint[] =>
    (rows as { id: string }[]).map(({ id }) => BigInt(id));

  it('for one of ninety days get all its rows from one partition', async () => {
    type Days = {
      ordersOf: (pool: unknown, layout: BitLayout, day: string) => Promise<unknown[]>;
    };
    const { ordersOf } = await example<Days>('ordersOf', table);
    const pool = new NotingPool(lab);
    for (const day of [0, 1, 45, 89]) {
      const text = new Date(noonMs - day * DAY_MS).toISOString().slice(0, 10);
      const found = idsOf(await ordersOf(pool, layout, text));
      const own = ids.slice(day * PER_DAY, (day + 1) * PER_DAY);
      expect([found.length, new Set(found)]).toEqual([PER_DAY, new Set(own)]);
    }
    expect(await touchedBy(pool.asked)).toEqual([1, 1, 1, 1]);
  });

  it('for pages get each row once from few partitions; a bare cursor reads all', async () => {
    type Pages = {
      page: (pool: unknown, layout: BitLayout, cursor: string, count: number) => Promise<unknown[]>;
    };
    const { page } = await example<Pages>('LIMIT', table);
    const pool = new NotingPool(lab);
    const found: bigint[] = [];
    let cursor = idAt(Date.now());
    for (;;) {
      const rows = idsOf(await page(pool, layout, String(cursor), 7));
      found.push(...rows);
      if (rows.length < 7) break;
      cursor = rows.at(-1)!;
    }
    expect(found).toEqual(ids);
    const firsts = pool.asked.filter(
      ({ values }, at) => values[1] !== pool.asked[at - 1]?.values[1],
    );
    expect(Math.max(...(await touchedBy(firsts)))).toBeLessThanOrEqual(2);
    const bare = `SELECT * FROM ${table} WHERE id < ${ids[0]} ORDER BY id DESC LIMIT 7`;
    expect((await lab.touched(bare)).length).toBeGreaterThan(80);
  });
});

/*
 * The daily command under clocks that the test sets: the kept partitions, the dropped ones, and the
 * rows in the default partition.
 */
describe('partitions under a test clock, on PostgreSQL', () => {
  const lab = new PartitionLab('postgres');
  const START_MS = Date.parse('2026-01-30T10:00:00Z');

  beforeAll(async () => {
    await lab.open();
    await lab.run(`CREATE SCHEMA fake; CREATE TABLE fake.clock (at timestamptz);
      CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql
        AS 'SELECT at FROM fake.clock'`);
    const name = new URL(lab.url).pathname.slice(1);
    await lab.run(`ALTER DATABASE ${name} SET search_path = fake, pg_catalog, public`);
  });
  afterAll(() => lab.close());
  afterEach(() => void jest.restoreAllMocks());

  async function setClocks(databaseMs: number, ownMs = databaseMs): Promise<void> {
    await lab.run(`DELETE FROM fake.clock`);
    await lab.run(`INSERT INTO fake.clock VALUES ('${new Date(databaseMs).toISOString()}')`);
    jest.spyOn(systemClock, 'now').mockReturnValue(ownMs);
  }

  async function run(table: string, ...args: readonly string[]): Promise<string[]> {
    const { code, lines, err } = await lab.command(table, '--yes', ...args);
    expect([code, err]).toEqual([0, '']);
    return lines;
  }

  it.each([
    { by: 'day', days: 40, slack: 1, given: '--layout snowflake' },
    { by: 'week', days: 60, slack: 7, given: '--layout sonyflake' },
    { by: 'month', days: 200, slack: 31, given: '--layout javascriptSafe' },
    {
      by: 'day',
      days: 10,
      slack: 1,
      given: '--unit 10ms --fields timestamp:39,worker:10,sequence:7',
    },
  ])(
    'a daily run keeps exactly the rows that are recent enough: $by, $given',
    async ({ by, days, slack, given }) => {
      const args = given.split(' ');
      const table = await lab.table();
      const required = ['--table', table, '--keep', '21d'];
      const layout = layoutFrom(readOptions(partitions, [...required, ...args]));
      const all: [ms: number, id: bigint][] = [];
      for (let day = 0; day < days; day += by === 'day' ? 1 : 5) {
        const nowMs = START_MS + day * DAY_MS;
        await setClocks(nowMs);
        await run(table, '--by', by, '--keep', '21d', '--ahead', '2', ...args);
        const id = layout.compose({ timestampMs: nowMs, workerId: 1, sequence: 0 });
        await lab.insert(table, [id]);
        all.push([nowMs, id]);
        expect(await lab.count(lab.restOf(table))).toBe(0);
        const found = await lab.ids(table);
        const young = all.filter(([ms]) => ms > nowMs - 21 * DAY_MS).map(([, one]) => one);
        const border = all.filter(([ms]) => ms > nowMs - (21 + slack + 1) * DAY_MS);
        expect(found.slice(-young.length)).toEqual(young);
        expect(found.length).toBeLessThanOrEqual(border.length);
      }
      expect(all.length).toBeGreaterThan((await lab.ids(table)).length - 1);
    },
  );

  it('no partition is dropped before both clocks agree that it is old', async () => {
    const table = await lab.table();
    const midnightMs = Date.parse('2026-03-01T00:00:00Z');
    await setClocks(midnightMs - 11 * DAY_MS);
    await run(table, '--keep', '10d');
    const oldest = dateOf(midnightMs - 11 * DAY_MS);
    const [before, after] = [midnightMs - 60_000, midnightMs + 60_000];
    for (const [databaseMs, ownMs, isDropped] of [
      [before, after, false],
      [after, before, false],
      [after, after, true],
    ] as const) {
      await setClocks(databaseMs, ownMs);
      await run(table, '--keep', '10d');
      expect([databaseMs, ownMs, !(await lab.dates(table)).includes(oldest)]).toEqual([
        databaseMs,
        ownMs,
        isDropped,
      ]);
    }
  });

  it('each day has its partition after weeks without a run, and old ones are gone', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await run(table, '--keep', '10d');
    const days = Array.from({ length: 60 }, (_, day) => START_MS + day * DAY_MS);
    await lab.insert(
      table,
      days.map((ms) => idAt(ms)),
    );
    await setClocks(days.at(-1)!);
    const lines = await run(table, '--keep', '10d');
    expect(lines.filter((line) => line.startsWith('dropped'))).toHaveLength(8);
    expect(await lab.dates(table)).toHaveLength(11 + 7);
    // Rows that were too old for a partition were never in one, so they stay.
    expect(await lab.count(lab.restOf(table))).toBe(60 - 8 - 11);
  });

  it('each day is in exactly one partition after a change to months and back', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await run(table, '--keep', '90d', '--ahead', '3');
    await run(table, '--keep', '90d', '--by', 'month', '--ahead', '2');
    expect(await lab.dates(table)).toEqual([
      '20260101',
      '20260130',
      '20260131',
      '20260201',
      '20260202',
      '20260203',
      '20260301',
    ]);
    await run(table, '--keep', '90d', '--by', 'week', '--ahead', '10');
    expect((await lab.dates(table)).at(-1)).toBe('20260406');
  });

  it.each([
    { says: 'waits and finds the new one', isLocked: true },
    { says: 'would fail without the lock of the table', isLocked: false },
  ])('a row on its way to the default partition $says', async ({ isLocked }) => {
    const table = await lab.table();
    await setClocks(START_MS);
    const { lines } = await lab.command(table, '--keep', '5d', '--ahead', '1', '--sql');
    const statements = statementsIn(lines).slice(0, 4);
    expect(statements.at(-1)).toMatch(/ATTACH PARTITION .*_p20260130/);
    const session = await lab.session();
    try {
      await session.run('BEGIN');
      for (const sql of statements.slice(0, -1)) {
        if (isLocked || !sql.includes('LOCK TABLE')) await session.run(sql);
      }
      if (!isLocked) await session.run(`LOCK TABLE ${table}_default IN ACCESS EXCLUSIVE MODE`);
      const insert = lab.insert(table, [idAt(START_MS)]).then(
        () => 'inserted',
        (error: unknown) => (error as Error).message,
      );
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND datname = current_database()`;
      await until(async () => (await lab.run(waiting)).length > 0);
      await session.run(statements.at(-1)!);
      await session.run('COMMIT');
      const failed = expect.stringMatching(/violates partition constraint/);
      expect(await insert).toEqual(isLocked ? 'inserted' : failed);
    } finally {
      await session.end();
    }
  });

  it('a converted table keeps its rules; its old rows go with the first partition', async () => {
    await setClocks(START_MS);
    const table = lab.newName();
    await lab.run(`CREATE TABLE ${table} (id bigint PRIMARY KEY, cents int CHECK (cents > 0),
      euros int GENERATED ALWAYS AS (cents / 100) STORED)`);
    const add = (ms: number, cents: number) =>
      lab.run(`INSERT INTO ${table} (id, cents) VALUES (${idAt(ms)}, ${cents})`);
    await add(START_MS - 400 * DAY_MS, 100);
    const { lines } = await lab.command(table, '--keep', '10d', '--ahead', '2', '--sql');
    for (const sql of statementsIn(lines)) await lab.run(sql);
    await add(START_MS + 5 * DAY_MS, 700);
    await setClocks(START_MS + 6 * DAY_MS);
    expect(await run(table, '--keep', '10d')).toHaveLength(9);
    const made = await lab.run(`SELECT cents, euros FROM ${table}_p20260204`);
    expect(made).toEqual([{ cents: 700, euros: 7 }]);
    await expect(add(START_MS + 6 * DAY_MS, -1)).rejects.toThrow(/check constraint/);
    await setClocks(START_MS + 12 * DAY_MS);
    expect(await run(table, '--keep', '10d')).not.toContain(`dropped  ${table}_p20260201`);
    await setClocks(START_MS + 13 * DAY_MS);
    expect(await run(table, '--keep', '10d')).toContain(`dropped  ${table}_p20260201`);
    expect(await lab.count(table)).toBe(1);
  });

  it('a partition is kept while another table refers to its rows', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await run(table, '--keep', '10d');
    await lab.run(`CREATE TABLE ${table}_lines (order_id bigint REFERENCES ${table})`);
    await lab.insert(table, [idAt(START_MS)]);
    await lab.run(`INSERT INTO ${table}_lines VALUES (${idAt(START_MS)})`);
    await setClocks(START_MS + 20 * DAY_MS);
    const { code, err } = await lab.command(table, '--keep', '10d', '--yes');
    expect([code, err]).toEqual([1, expect.stringMatching(/violates foreign key constraint/)]);
    expect(await lab.count(table)).toBe(1);
    await lab.run(`DROP TABLE ${table}_lines`);
    expect(await run(table, '--keep', '10d')).toContain(`dropped  ${table}_p20260130`);
  });

  it('rows stay in place if their deletion would cascade to another table', async () => {
    const table = await lab.table();
    await lab.run(`CREATE TABLE lines (order_id bigint REFERENCES ${table} ON DELETE CASCADE)`);
    await setClocks(START_MS);
    const id = idAt(START_MS);
    await lab.insert(table, [id]);
    await lab.run(`INSERT INTO lines VALUES (${id})`);
    const { code, err } = await lab.command(table, '--keep', '10d');
    expect([code, err]).toEqual([2, expect.stringMatching(/would take a move for a deletion/)]);
    expect([await lab.count('lines'), await lab.count(table)]).toEqual([1, 1]);
    await lab.run(`DELETE FROM ${table}`);
    expect(await lab.count('lines')).toBe(0);
    expect(await run(table, '--keep', '10d')).toHaveLength(8);
  });

  it('a slow move of rows is given up after three attempts, with the reason', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await lab.insert(table, [idAt(START_MS)]);
    await lab.run(`CREATE FUNCTION slow(bigint) RETURNS boolean VOLATILE LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(9); RETURN true; END'`);
    await lab.run(`ALTER TABLE ${table} ADD CONSTRAINT slow CHECK (slow(id)) NOT VALID`);
    const { code, err } = await lab.command(table, '--keep', '10d', '--wait', '600000');
    expect([code, err]).toEqual([1, expect.stringMatching(/more rows wait in the catch-all/)]);
    expect(await lab.count(lab.restOf(table))).toBe(1);
    await lab.run(`ALTER TABLE ${table} DROP CONSTRAINT slow`);
    expect(await run(table, '--keep', '10d')).toHaveLength(8);
  });

  it('rows stay in place if subscribers would treat the move as a deletion', async () => {
    const table = await lab.table();
    await lab.run(`CREATE PUBLICATION of_${table} FOR TABLE ${table}`);
    await setClocks(START_MS);
    await lab.insert(table, [idAt(START_MS)]);
    const { code, err } = await lab.command(table, '--keep', '10d');
    expect([code, err]).toEqual([2, expect.stringMatching(/subscribers would take a move/)]);
    expect(await lab.count(lab.restOf(table))).toBe(1);
    await lab.run(`DROP PUBLICATION of_${table}`);
    expect(await run(table, '--keep', '10d')).toHaveLength(8);
    expect(await lab.count(lab.restOf(table))).toBe(0);
  });
});
