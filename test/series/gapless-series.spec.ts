/**
 * Series without gaps on real databases: what is rolled back is given again, what is committed is
 * given once, however many transactions run at a time.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import {
  CreateSnowflakeSeries1767225600002,
  gaplessSeries,
  seriesTable,
} from 'nestjs-snowflake/sql';
import { DataSource, type EntityManager } from 'typeorm';

const table = `series_${randomUUID().replaceAll('-', '')}`;
const clock = { now: () => Date.parse('2026-11-20T00:00:00Z') };
const SERVERS = [
  ['postgres', 'DATABASE_URL'],
  ['mysql', 'MYSQL_URL'],
] as const;

describe.each(SERVERS)('%s', (type, variable) => {
  const database = new DataSource({ type, url: process.env[variable]! });
  const invoices = gaplessSeries({
    name: 'invoice',
    period: 'year',
    timeZone: 'UTC',
    form: 'R-{date}-{0000}',
    table,
    clock,
  });
  beforeAll(async () => {
    await database.initialize();
    await database.query(seriesTable(type, table));
  });
  afterAll(async () => {
    await database.query(`DROP TABLE ${table}`);
    await database.destroy();
  });

  const numberOf = async (work: (manager: EntityManager) => Promise<string>) =>
    invoices.parse(await database.transaction(work)).number;

  it('gives each number once where one transaction takes several at a time', async () => {
    const form = '{date}-{00}';
    const several = gaplessSeries({
      name: 'several',
      period: 'year',
      timeZone: 'UTC',
      form,
      table,
    });
    const texts = await database.transaction((manager) =>
      Promise.all([1, 2, 3].map(() => several.nextIn(manager))),
    );
    expect(new Set(texts).size).toBe(3);
  });

  it('counts what is committed, and gives again what is rolled back', async () => {
    expect(await numberOf((manager) => invoices.nextIn(manager))).toBe(1);
    const rolledBack = numberOf(async (manager) => {
      expect(await invoices.nextIn(manager)).toBe('R-2026-0002');
      throw new Error('no stock');
    });
    await expect(rolledBack).rejects.toThrow('no stock');
    const query = (manager: EntityManager) => ({
      dialect: type,
      query: (sql: string, params: (string | number | null)[]) => manager.query(sql, params),
    });
    expect(await numberOf((manager) => invoices.nextIn(query(manager)))).toBe(2);
  });

  it('has no gap and no number twice, with one in three rolled back', async () => {
    const work = async (at: number) => {
      try {
        return await numberOf(async (manager) => {
          const text = await invoices.nextIn(manager);
          if (at % 3 === 0) throw new Error('rolled back');
          return text;
        });
      } catch {
        return undefined;
      }
    };
    const all = await Promise.all(Array.from({ length: 60 }, (_, at) => work(at)));
    const given = all.filter((number) => number !== undefined).toSorted((a, b) => a - b);
    expect(given).toEqual(Array.from({ length: 40 }, (_, at) => 3 + at));
  });

  it('refuses to count outside of a transaction', async () => {
    await expect(invoices.nextIn(database.manager)).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
    });
  });
});

it('has its table by a migration', async () => {
  const migrations = [CreateSnowflakeSeries1767225600002];
  const options = { type: 'better-sqlite3', database: ':memory:', driver: Database, migrations };
  const database = await new DataSource(options as never).initialize();
  const invoices = gaplessSeries({
    name: 'invoice',
    period: 'year',
    timeZone: 'UTC',
    form: 'R{date}-{000}',
    clock,
  });
  const next = () => database.transaction((manager) => invoices.nextIn(manager));
  await database.runMigrations();
  expect([await next(), await next()]).toEqual(['R2026-001', 'R2026-002']);
  await database.undoLastMigration();
  await expect(next()).rejects.toThrow('no such table');
  await database.destroy();
});
