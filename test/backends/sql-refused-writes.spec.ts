/**
 * A database that carries out no write, and says nothing of it: whoever asks is told within one
 * call, not that the store did not answer.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { counterTable, sqlCounters } from '../../lib/backends/sql/index.js';
import { failureOf } from './redis-lab.js';
import { SqlLab } from './sql-lab.js';

const lab = new SqlLab();
const name = `swallowed_${randomUUID().replaceAll('-', '')}`;
let pool: Pool;
beforeAll(() => {
  pool = lab.pool();
});
afterAll(async () => {
  await pool.query(`DROP FUNCTION IF EXISTS ${name}() CASCADE`);
  await lab.end();
});

async function swallowing(create: string): Promise<void> {
  await pool.query(`DROP TABLE IF EXISTS ${name}`);
  await pool.query(create);
  await pool.query(
    `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS ` +
      `'BEGIN RETURN NULL; END'`,
  );
  await pool.query(
    `CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON ${name} ` +
      `FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  );
}

const SAYS = 'carried out none of 3 writes';
const TAKE = { kind: 'dense', counter: 'c', count: 1n, have: 0n, skip: 2n, startAt: 1n } as const;

it('is named by a counter', async () => {
  await swallowing(counterTable('postgres', name));
  const own = { table: name, replicated: false } as const;
  const counters = sqlCounters({ pool, dialect: 'postgres', ...own });
  expect((await failureOf(counters.take(TAKE))).message).toContain(SAYS);
});
