/**
 * The commands against registries in real databases: the table is created when that is asked for.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { SqlLab } from '../stores/sql-lab.js';
import { command, typing } from './run-command.js';

const lab = new SqlLab();
afterAll(() => lab.end());

const SERVERS = [
  { name: 'postgres', variable: 'DATABASE_URL' },
  { name: 'mysql', variable: 'MYSQL_URL' },
] as const;

describe.each(SERVERS)('$name', ({ name, variable }) => {
  const table = `cli_${randomUUID().replaceAll('-', '')}`;
  const url = `${process.env[variable]!}?table=${table}&namespace=shop&replicated=false`;
  const run = (words: string, stdin: Parameters<typeof typing>[0] = 'n') =>
    command([...words.split(' '), '--support', url], { stdin: typing(stdin) });
  afterAll(async () => {
    const sql = `DROP TABLE IF EXISTS ${table}`;
    await (name === 'postgres' ? lab.pool().query(sql) : lab.mysql().query(sql));
  });

  it('says which command creates the table', async () => {
    const { code, err } = await run('workers');
    expect(code).not.toBe(0);
    expect(err).toContain('snowflake registry create');
  });

  it('prints the statement, and does nothing', async () => {
    const { code, out } = await run('registry create --dry');
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`CREATE TABLE IF NOT EXISTS ${table}`),
    ]);
    expect((await run('workers')).err).toContain('snowflake registry create');
  });

  it('creates no table that nobody wants', async () => {
    expect((await run('registry create', 'n')).code).toBe(1);
    expect((await run('workers')).err).toContain('snowflake registry create');
  });

  it('creates table and registry, inspects and examines them', async () => {
    expect((await run('registry create --yes')).code).toBe(0);
    expect((await run('registry inspect')).out).toContain(`${table}, namespace shop`);
    expect((await run('workers')).code).toBe(0);
    const { out } = await run('doctor');
    expect(out).toMatch(name === 'postgres' ? /fsync off/ : /innodb_flush_log_at_trx_commit is 0/);
    expect((await run('registry create --yes')).code).toBe(1);
  });
});
