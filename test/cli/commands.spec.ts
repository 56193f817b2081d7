/**
 * The commands on real stores: counters in Redis and etcd, locks on every store, printed SQL for
 * tables, and registries in databases and in etcd.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it, beforeAll } from '@jest/globals';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { EtcdLab } from '../stores/etcd-lab.js';
import { SqlLab } from '../stores/sql-lab.js';
import { command, typing } from './run-command.js';
import { recordText, withBegun, withEnded } from '../../lib/cron/cron-record.js';
import { locksOf } from '../../lib/stores/schemes.js';
import { DistributedLock, type AcquiredLock } from '../../lib/nest/lock/index.js';
import { until } from '../until.js';
import { quickFolder } from '../support/made-once.mjs';

const namespace = `cli-${randomUUID()}`;
const url = `${process.env['REDIS_URL']!}?namespace=${namespace}&lossWindowMs=0`;
const run = (words: string) => command([...words.split(' '), '--support', url]);

describe('snowflake counters', () => {
  it.each([
    ['Redis', url],
    ['etcd', `${process.env['ETCD_URL']!}?namespace=${namespace}`],
  ])('creates a counter in %s once, shows it, and never changes it', async (_store, support) => {
    const run = (words: string) => command([...words.split(' '), '--support', support]);
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

  it('asks for confirmation before it creates a counter, and only at a terminal', async () => {
    const { code, err } = await run('counters create other --start 1');
    expect([code, err]).toEqual([2, expect.stringContaining('add --yes')]);
  });

  it.each([
    ['counters create order --yes', '--start'],
    ['counters create order --start -1 --yes', '--start'],
    ['counters create order --start 9223372036854775808 --yes', '--start'],
    ['counters create order --start 0500 --yes', '--start'],
    ['counters create --start 1 --yes', 'counter'],
  ])('rejects `%s`', async (words, said) => {
    const { code, err } = await run(words);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });

  it('rejects a store without counters and names its URL', async () => {
    const { code, err } = await command(['counters', 'list', '--support', 'file:./x']);
    expect([code, err]).toEqual([2, expect.stringContaining('No counter store handles this URL')]);
  });
});

/*
 * The commands for locks on every store that keeps locks. They show each lock with its holder, its
 * age and its token, and they create the table of a database.
 */
const lab = new SqlLab();
const folder = quickFolder('locks');
const own = `namespace=${randomUUID()}`;
const ofSql = `${own}&table=${lab.table}&replicated=false`;

afterAll(async () => {
  const sql = `DROP TABLE IF EXISTS ${lab.table}`;
  await Promise.all([lab.pool().query(sql), lab.mysql().query(sql)]);
  await lab.end();
  rmSync(folder, { recursive: true });
});

const LOCK_STORES = [
  { store: 'redis', url: `${process.env['REDIS_URL']}?${own}`, table: '' },
  { store: 'etcd', url: `${process.env['ETCD_URL']}?${own}`, table: '' },
  { store: 'postgres', url: `${process.env['DATABASE_URL']}?${ofSql}`, table: lab.table },
  { store: 'mariadb', url: `${process.env['MYSQL_URL']}?${ofSql}`, table: lab.table },
  { store: 'sqlite', url: `sqlite:${folder}/shop.db?${ofSql}`, table: lab.table },
];

describe.each(LOCK_STORES)('snowflake locks on $store', ({ url, table }) => {
  const run = (words: string) => command([...words.split(' '), '--support', url]);
  let locks: DistributedLock;
  const held: AcquiredLock[] = [];

  beforeAll(async () => {
    locks = new DistributedLock(await locksOf(url), {
      application: 'shop',
      ttlMs: 5000,
      callTimeoutMs: 60_000,
    });
  });
  afterAll(() => locks.close());

  it('prints the SQL statement for the table, if the store uses one', async () => {
    const { code, out, err } = await run('locks create --dry');
    expect([code, out.includes('CREATE TABLE')]).toEqual([0, table !== '']);
    expect(out).toContain(table);
    expect(err.includes('needs no table.')).toBe(table === '');
  });

  if (table === '') {
    it('starts the waiting time of a new store after confirmation', async () => {
      expect(await run('locks create')).toMatchObject({ code: 2 });
      const { code, err } = await run('locks create --ttl 5000 --yes');
      expect([code, err]).toEqual([0, expect.stringMatching(/grants its first lock in \d+ s\./)]);
      await until(async () => (await run('locks create --ttl 5000 --yes')).err.includes(' now.'));
      // An application can use the store at once.
      await (await locks.tryAcquire('first'))!.release();
    });
  }

  if (table !== '') {
    it('creates the table only if it is missing, and only after confirmation', async () => {
      const missing = await run('locks');
      expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('registry create')]);
      expect(await run('locks create')).toMatchObject({ code: 2 });
      expect(await run('locks')).toMatchObject({ code: 1 });
      expect(await run('locks create --yes')).toMatchObject({ code: 0 });
      expect(await run('locks create')).toMatchObject({ code: 2 });
      expect(await run('locks create --yes')).toMatchObject({ code: 0 });
    });
  }

  it('shows the jobs of @CronOnce, and the runs of one job', async () => {
    expect((await run('cron')).out).toContain('There are no jobs in');
    const section = await locks.acquire('cron:Reports.nightly', { waitMs: 60_000 });
    const other = await locks.acquire('cron:ill');
    await other.writeNote('no record');
    const [at, by] = [Date.UTC(2026, 10, 26, 3), 'web-1 7 shop\u001b[31m'];
    const begun = { startedAtMs: at + 40, by, token: section.token, skippedCount: 2 };
    const schedule = '0 3 * * * Europe/Berlin';
    const record = { schedule, application: 'shop', settledMs: at - 1, runs: [] };
    const running = withBegun(record, { ...begun, tickMs: at });
    await section.writeNote(recordText(running));
    expect((await run('cron')).lines[1]).toMatch(
      /^Reports\.nightly +0 3 \* \* \* Europe.Berlin +2026-11-26T03:00:00.000Z +running/,
    );
    const end = { token: section.token, outcome: 'done', tookMs: 1500 } as const;
    await section.writeNote(recordText(withEnded(running, end)));
    const one = await run('cron Reports.nightly');
    expect([one.code, one.lines.length]).toEqual([0, 2]);
    expect(one.lines[1]).toContain(`${section.token}`);
    expect(one.lines[1]).toContain('done');
    expect(one.out).not.toContain('\u001b[31m');
    const [parsed] = (await run('cron --json')).lines.map((line) => JSON.parse(line) as object);
    expect(parsed).toMatchObject({
      job: 'Reports.nightly',
      runs: [{ tick: '2026-11-26T03:00:00.000Z', outcome: 'done', tookMs: 1500, skippedCount: 2 }],
    });
    expect(await run('cron nobody')).toMatchObject({ code: 1 });
    await Promise.all([section.release(), other.release()]);
  });

  it('shows an empty list if no lock is held', async () => {
    const { code, lines } = await run('locks');
    expect([code, lines[0]]).toEqual([0, expect.stringMatching(/^0 held, 0 kept\. In /)]);
    expect((await run('locks --json')).lines.map(parsed)).toEqual([{ held: 0, kept: 0 }]);
  });

  it('shows the locks sorted by name, with their holders and remaining times', async () => {
    const waitMs = 180_000;
    const [second, first] = [
      (await locks.tryAcquire('order:7', { waitMs }))!,
      (await locks.tryAcquire('order:11', { waitMs }))!,
    ];
    held.push(first, second);
    await locks.using('job', { holdAtLeastMs: 600_000 }, async () => undefined);
    const { code, lines } = await run('locks');
    expect(code).toBe(0);
    const by = `\\S+ ${process.pid} shop`;
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    expect(lines[0]).toMatch(/^lock +state +by +token +since +free in$/);
    expect(lines[1]).toMatch(new RegExp(`^job +kept +${by} +\\d+ +${time} +10 min$`));
    expect(lines[2]).toMatch(
      new RegExp(`^order:11 +held +${by} +${first.token} +${time} +\\d+ m?s$`),
    );
    expect(lines[3]).toMatch(new RegExp(`^order:7 +held +${by} +${second.token} `));
    expect(lines[5]).toMatch(/^2 held, 1 kept\. In /);
  }, 300_000);

  it('prints JSON with tokens as strings, up to --limit', async () => {
    const [job, order, counts] = (await run('locks --json --limit 2')).lines.map(parsed);
    expect(job).toMatchObject({ lock: 'job', state: 'kept', sinceMs: expect.any(Number) });
    expect(order).toMatchObject({ lock: 'order:11', state: 'held', token: `${held[0]!.token}` });
    expect(Date.parse(String(order!['since']))).toBe(order!['sinceMs']);
    expect(order!['leftMs']).toBeGreaterThan(0);
    expect(counts).toEqual({ held: 2, kept: 1, isCut: true, limit: 2 });
    expect((await run('locks --limit 1')).out).toContain('These are the first 1. Raise --limit');
  });

  it('no longer shows released locks', async () => {
    for (const one of held) await one.release();
    const { lines } = await run('locks --json');
    expect(lines.map(parsed).at(-1)).toEqual({ held: 0, kept: 1 });
  });
});

describe('snowflake locks', () => {
  it.each([
    ['locks --limit 0', '--limit'],
    ['locks --support memory:', 'cannot be seen by another'],
    ['locks --support file:./x', 'No lock store handles this URL'],
    ['locks --support static:7', 'No lock store handles this URL'],
    ['locks create --support file:./x', 'No lock store handles this URL'],
    ['locks crate', 'Unexpected argument "crate"'],
  ])('rejects `%s`', async (words, said) => {
    const { code, err } = await command([...words.split(' '), ...absent(words)]);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });

  it('requires a store, and has its own help apart from that of its subcommand', async () => {
    expect((await command(['locks'])).err).toContain('Which store? Give --support');
    expect((await command(['locks', '--help'])).out).toMatch(/^snowflake locks \[options\]/);
    const { out } = await command(['locks', 'create', '--help']);
    expect(out).toMatch(/^snowflake locks create \[options\]/);
  });

  it('reports an unreachable store within --timeout', async () => {
    const support = 'redis://:secret@127.0.0.1:1?namespace=x';
    const { code, err } = await command(['locks', '--timeout', '200', '--support', support]);
    expect(code).toBe(1);
    expect(err).toContain('127.0.0.1:1');
    expect(err).not.toContain('secret');
  });
});

const parsed = (line: string) => JSON.parse(line) as Record<string, unknown>;
const absent = (words: string) =>
  words.includes('--support') ? [] : ['--support', process.env['REDIS_URL']!];

/*
 * The client program of the database accepts the printed SQL unchanged, from `--dry` and from above
 * the question. The commands then find the table.
 */
describe('printed SQL for tables', () => {
  const lab = new SqlLab();
  const tables: string[] = [];

  afterAll(async () => {
    for (const table of tables) {
      const sql = `DROP TABLE IF EXISTS ${table}`;
      await Promise.all([lab.pool().query(sql), lab.mysql().query(sql)]);
    }
    await lab.end();
  });

  /**
   * The client program with the arguments that stop it at an error and make it read standard input.
   */
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

  /** A command that reads the table, and its output for an unused table. */
  const WORKERS = ['workers', 'There is no registry yet'] as const;
  const LOCKS = ['locks', '0 held'] as const;
  const CASES = [
    { client: 'psql', variable: 'DATABASE_URL', create: 'registry create', look: WORKERS },
    { client: 'psql', variable: 'DATABASE_URL', create: 'locks create', look: LOCKS },
    { client: 'mariadb', variable: 'MYSQL_URL', create: 'registry create', look: WORKERS },
    { client: 'mariadb', variable: 'MYSQL_URL', create: 'locks create', look: LOCKS },
  ] as const;

  describe.each(CASES)(
    '`$create` prints a table for $client, which',
    ({ client, variable, create, look: [look, said] }) => {
      const server = process.env[variable]!;
      const asked = () => {
        const table = `printed_${randomUUID().replaceAll('-', '')}`;
        tables.push(table);
        const support = `${server}?table=${table}&namespace=shop&replicated=false`;
        return (words: string, stdin?: ReturnType<typeof typing>) =>
          command([...words.split(' '), '--support', support], { ...(stdin && { stdin }) });
      };

      it('works if printed by --dry', async () => {
        const run = asked();
        // A second statement shows that the printed one ends correctly.
        fed(client, server, `${(await run(`${create} --dry`)).out}SELECT 1;\n`);
        const answer = await run(look);
        expect(answer.out + answer.err).toContain(said);
      });

      it('works if printed above the question', async () => {
        const run = asked();
        const { code, out } = await run(create, typing('no'));
        expect(code).toBe(1);
        fed(client, server, out);
        const answer = await run(look);
        expect(answer.out + answer.err).toContain(said);
      });
    },
  );
});

/*
 * The commands on registries in real databases. A command creates the table only on request.
 */
describe('commands on SQL databases', () => {
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

    it('names the command that creates the missing table', async () => {
      const { code, err } = await run('workers');
      expect(code).not.toBe(0);
      expect(err).toContain('snowflake registry create');
    });

    it('prints the statement with --dry, and changes nothing', async () => {
      const { code, out } = await run('registry create --dry');
      expect([code, out]).toEqual([
        0,
        expect.stringContaining(`CREATE TABLE IF NOT EXISTS ${table}`),
      ]);
      expect((await run('workers')).err).toContain('snowflake registry create');
    });

    it('creates no table without confirmation', async () => {
      expect((await run('registry create', 'n')).code).toBe(1);
      expect((await run('workers')).err).toContain('snowflake registry create');
    });

    it('creates table and registry after one confirmation, and inspects them', async () => {
      const created = await run('registry create', 'yes');
      expect(created).toMatchObject({ code: 0, out: expect.stringContaining('CREATE TABLE') });
      expect(created.err).not.toContain('Nothing was changed.');
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
 * The commands on a registry in a real etcd.
 */
describe('commands on etcd', () => {
  const lab = new EtcdLab();
  afterAll(() => lab.end());

  it('create, show, check and release a registry', async () => {
    const namespace = randomUUID();
    const store = ['--support', `${process.env['ETCD_URL']!}?namespace=${namespace}`];
    const none = await command(['workers', ...store]);
    expect(none).toMatchObject({ code: 1, out: '' });
    expect(none.err).toContain(`There is no registry yet (snowflake/${namespace}/)`);
    const regions = await command(['regions', '--json', '--regions', store[1]!]);
    expect(regions).toMatchObject({ code: 1, out: '' });
    // Reading commands change nothing.
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
