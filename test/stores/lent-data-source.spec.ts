/**
 * A DataSource that an application lends to a support, closed or not open yet.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import Database from 'libsql';
import { startSnowflake } from 'nestjs-snowflake';
import { DataSource } from 'typeorm';
import { sqlSupport } from '../../lib/stores/sql/index.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import { failureOf, request } from './redis-lab.js';
import { SqlLab } from './sql-lab.js';

const lab = new SqlLab();
beforeAll(async () => {
  await lab.postgresTable();
  await lab.mysqlTable();
});
afterAll(() => lab.end());

const named = () => ({ table: lab.table, namespace: randomUUID(), replicated: false });

describe('a DataSource of TypeORM', () => {
  it.each([
    ['postgres', { url: process.env['DATABASE_URL']! }],
    ['mysql', { url: process.env['MYSQL_URL']! }],
  ] as const)('may be destroyed before the release, with %s', async (type, options) => {
    const dataSource = await new DataSource({ type, ...options } as never).initialize();
    const given = named();
    const run = await startSnowflake({
      support: sqlSupport({ dataSource, ...given }),
    });
    expect(run.ids.nextId()).toBeGreaterThan(0n);
    await dataSource.destroy();
    const warned = jest.spyOn(Logger.prototype, 'warn');
    await run.close();
    expect(warned.mock.calls).toEqual([]);
    warned.mockRestore();
    const { table, namespace } = given;
    const own = supportFromUrl(`${options.url}?table=${table}&namespace=${namespace}`);
    for (const row of await own.workers()) expect(row).not.toHaveProperty('holder');
    await own.close();
  });

  it.each([
    [
      'sqlite',
      () =>
        new DataSource({ type: 'better-sqlite3', database: ':memory:', driver: Database } as never),
    ],
    ['PostgreSQL', () => new DataSource({ type: 'postgres', url: process.env['DATABASE_URL']! })],
  ])('is named if it was never opened: %s', async (_, make) => {
    const support = sqlSupport({ dataSource: make(), namespace: randomUUID() });
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure.message).toContain('has closed the DataSource or the pool');
  });
});
