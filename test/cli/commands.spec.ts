/**
 * The commands for counters, against a real Redis.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { EtcdLab } from '../stores/etcd-lab.js';
import { SqlLab } from '../stores/sql-lab.js';
import { command, typing } from './run-command.js';

const namespace = `cli-${randomUUID()}`;
const url = `${process.env['REDIS_URL']!}?namespace=${namespace}&lossWindowMs=0`;
const run = (words: string) => command([...words.split(' '), '--support', url]);

describe('snowflake counters', () => {
  it('creates a counter once, shows it, and never changes it', async () => {
    expect((await run('counters list')).out).toMatch(/^There are no counters in/);
    const missing = await run('counters inspect order');
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('no counter order')]);
    const created = await run('counters create order --start 9007199254740993 --yes');
    expect([created.code, created.out]).toEqual([
      0,
      expect.stringMatching(/next +9007199254740993\n/),
    ]);
    const again = await run('counters create order --start 1 --yes');
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('already exists')]);
    expect((await run('counters inspect order')).out).toMatch(/next +9007199254740993\n/);
    const [line] = (await run('counters list --json')).lines;
    expect(JSON.parse(line!)).toMatchObject({ counter: 'order', next: '9007199254740993' });
  });

  it('asks before it creates, and only at a terminal', async () => {
    const { code, err } = await run('counters create other --start 1');
    expect([code, err]).toEqual([2, expect.stringContaining('add --yes')]);
  });

  it.each([
    ['counters create order --yes', '--start'],
    ['counters create order --start -1 --yes', '--start'],
    ['counters create order --start 9223372036854775808 --yes', '--start'],
    ['counters create order --start 0500 --yes', '--start'],
    ['counters create --start 1 --yes', 'counter'],
  ])('%s is refused', async (words, said) => {
    const { code, err } = await run(words);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });

  it('a store without counters is named', async () => {
    const { code, err } = await command(['counters', 'list', '--support', 'file:./x']);
    expect([code, err]).toEqual([2, expect.stringContaining('No counter store handles this URL')]);
  });
});

/*
 * What `--dry` prints, and what stands above the question, is SQL that the client program of the
 * database takes as it is: the table is there afterwards, and serves.
 */
describe('printed tables', () => {
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
});

/*
 * The commands against registries in real databases: the table is created when that is asked for.
 */
describe('sql commands', () => {
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
      expect(out).toMatch(
        name === 'postgres' ? /fsync off/ : /innodb_flush_log_at_trx_commit is 0/,
      );
      expect((await run('registry create --yes')).code).toBe(1);
    });
  });
});

/*
 * The command line on a registry in an etcd that is real.
 */
describe('etcd program', () => {
  const lab = new EtcdLab();
  afterAll(() => lab.end());

  it('creates, shows, checks and releases a registry', async () => {
    const namespace = randomUUID();
    const store = ['--support', `${process.env['ETCD_URL']!}?namespace=${namespace}`];
    const none = await command(['workers', ...store]);
    expect(none.out + none.err).toContain(`There is no registry yet (snowflake/${namespace}/)`);
    // Looking changes nothing.
    expect(await lab.keys(namespace).all()).toEqual(new Map());
    const created = await command(['registry', 'create', '--yes', ...store]);
    expect(created).toMatchObject({ code: 0 });
    const { endpoint } = await lab.proxy();
    const { lease } = await lab.lease(lab.support({ endpoints: [endpoint], namespace }));
    const workers = await command(['workers', ...store]);
    expect(workers.out).toContain(String(lease.workerId));
    const doctor = await command(['doctor', ...store]);
    expect(doctor.out).toMatch(/etcd 3\.\d/);
    expect(doctor.out).toContain('whole seconds');
    const released = await command(['release', String(lease.workerId), '--yes', ...store]);
    expect(released).toMatchObject({ code: 0 });
    expect([...(await lab.keys(namespace).all()).keys()]).not.toContain(`t${lease.token}`);
  });
});
