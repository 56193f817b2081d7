/**
 * What `--dry` prints, and what stands above the question, is SQL that the client program of the
 * database takes as it is: the table is there afterwards, and serves.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { SqlLab } from '../stores/sql-lab.js';
import { command, typing } from './run-command.js';

const lab = new SqlLab();
const tables: string[] = [];

afterAll(async () => {
  for (const table of tables) {
    const sql = `DROP TABLE IF EXISTS ${table}`;
    await Promise.all([lab.pool().query(sql), lab.mysql().query(sql)]);
  }
  await lab.end();
});

/** The client program, with the words that make it stop at a mistake and read standard input. */
const CLIENTS = {
  psql: (url: string) => [requireServers(['psql']).psql, '-v', 'ON_ERROR_STOP=1', '-q', url],
  mariadb: (url: string) => {
    const { hostname, port, username, password, pathname } = new URL(url);
    const login = ['-h', hostname, '-P', port, '-u', username, `--password=${password}`];
    return [requireServers(['mysql']).mysql, '--protocol=tcp', ...login, pathname.slice(1)];
  },
};

function fed(client: keyof typeof CLIENTS, url: string, sql: string): void {
  const [program = '', ...args] = CLIENTS[client](url);
  const { status, stderr } = spawnSync(program, args, { input: sql, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
}

const CASES = [
  { client: 'psql', variable: 'DATABASE_URL', create: 'registry create', look: 'workers' },
  { client: 'psql', variable: 'DATABASE_URL', create: 'locks create', look: 'locks' },
  { client: 'mariadb', variable: 'MYSQL_URL', create: 'registry create', look: 'workers' },
  { client: 'mariadb', variable: 'MYSQL_URL', create: 'locks create', look: 'locks' },
] as const;

describe.each(CASES)(
  '`$create` prints a table to $client',
  ({ client, variable, create, look }) => {
    const server = process.env[variable]!;
    const asked = () => {
      const table = `printed_${randomUUID().replaceAll('-', '')}`;
      tables.push(table);
      const support = `${server}?table=${table}&namespace=shop&replicated=false`;
      return (words: string, stdin?: ReturnType<typeof typing>) =>
        command([...words.split(' '), '--support', support], { ...(stdin && { stdin }) });
    };

    it('by --dry', async () => {
      const run = asked();
      // As in a file of several statements.
      fed(client, server, `${(await run(`${create} --dry`)).out}SELECT 1;\n`);
      expect(await run(look)).toMatchObject({ code: 0, err: '' });
    });

    it('above the question', async () => {
      const run = asked();
      const { code, out } = await run(create, typing('no'));
      expect(code).toBe(1);
      fed(client, server, out);
      expect(await run(look)).toMatchObject({ code: 0, err: '' });
    });
  },
);
