/**
 * The guide to partitions, followed: its migration by TypeORM and the same SQL by Drizzle turn a
 * table with rows into one with partitions, and its functions read few of these.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
import { DAY_MS, idAt, PartitionLab, type Dialect } from './partition-lab.js';

const GUIDE = 'docs/guides/partitions.md';
const DIALECTS: readonly Dialect[] = ['postgres', 'mariadb'];

mkdirSync(join(ROOT, '.data'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.data', 'partitions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The block of the guide in which a text stands, of this table, as a module. */
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

  /** A table with rows of four days, and the file that `--sql` fills. */
  async function given(): Promise<{ table: string; ids: bigint[]; sql: string }> {
    const table = await lab.plainTable();
    const ids = [3, 2, 1, 0].map((days) => idAt(Date.now() - days * DAY_MS));
    await lab.insert(table, ids);
    const { code, out } = await lab.command(table, '--keep', '90d', '--sql');
    expect([code, out.split('\n')[0]]).toEqual([0, expect.stringContaining(`-- Gives ${table}`)]);
    return { table, ids, sql: out };
  }

  /** The rows, what the daily command says, and where a row of another year goes. */
  async function orderOf(table: string): Promise<unknown> {
    const ids = await lab.ids(table);
    const { code, out, err } = await lab.command(table, '--keep', '90d');
    await lab.insert(table, [FAR]);
    return { ids, code, said: out + err, rest: await lab.ids(lab.restOf(table)) };
  }
  const FAR = idAt(Date.now() + 300 * DAY_MS);
  const inOrder = { code: 0, said: 'Nothing to do.\n', rest: [FAR] };

  it('of TypeORM gives a table partitions, and its rows stay', async () => {
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

  it('of Drizzle does so too', async () => {
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

/** A pool of pg in the eyes of the guide, which notes what it is asked. */
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

describe.each(DIALECTS)('reading on %s', (dialect) => {
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

  it('a day of ninety is all its rows, out of one partition', async () => {
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

  it('pages have each row once, out of few partitions; by the cursor alone of all', async () => {
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
