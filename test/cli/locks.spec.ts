/**
 * The commands for locks on every store that keeps them: what is held and kept, by whom, since when
 * and with which token; and the table of a database.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newRecord, recordText, withBegun, withEnded } from '../../lib/lock/cron-record.js';
import { locksOf } from '../../lib/stores/schemes.js';
import { DistributedLock, type AcquiredLock } from '../../lib/nest/lock/index.js';
import { SqlLab } from '../stores/sql-lab.js';
import { command } from './run-command.js';
import { until } from '../until.js';
import { quickFolder } from '../support/made-once.mjs';

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

const STORES = [
  { store: 'redis', url: `${process.env['REDIS_URL']}?${own}`, table: '' },
  { store: 'etcd', url: `${process.env['ETCD_URL']}?${own}`, table: '' },
  { store: 'postgres', url: `${process.env['DATABASE_URL']}?${ofSql}`, table: lab.table },
  { store: 'mariadb', url: `${process.env['MYSQL_URL']}?${ofSql}`, table: lab.table },
  { store: 'sqlite', url: `sqlite:${folder}/shop.db?${ofSql}`, table: lab.table },
];

describe.each(STORES)('snowflake locks on $store', ({ url, table }) => {
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

  it('prints the statement of the table, where there is one', async () => {
    const { code, out, err } = await run('locks create --dry');
    expect([code, out.includes('CREATE TABLE')]).toEqual([0, table !== '']);
    expect(out).toContain(table);
    expect(err.includes('needs no table.')).toBe(table === '');
  });

  if (table === '') {
    it('begins to keep locks with a yes, so that the time of a new store goes by', async () => {
      expect(await run('locks create')).toMatchObject({ code: 2 });
      const { code, err } = await run('locks create --ttl 5000 --yes');
      expect([code, err]).toEqual([0, expect.stringMatching(/grants its first lock in \d+ s\./)]);
      await until(async () => (await run('locks create --ttl 5000 --yes')).err.includes(' now.'));
      // An application finds it ready.
      await (await locks.tryAcquire('first'))!.release();
    });
  }

  if (table !== '') {
    it('creates the table once, and never without a yes', async () => {
      const missing = await run('locks');
      expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('locks create')]);
      expect(await run('locks create')).toMatchObject({ code: 2 });
      expect(await run('locks')).toMatchObject({ code: 1 });
      expect(await run('locks create --yes')).toMatchObject({ code: 0 });
      const again = await run('locks create --yes');
      expect([again.code, again.err]).toEqual([1, expect.stringContaining('already exists')]);
    });
  }

  it('shows the jobs that run once, and the runs of one', async () => {
    expect((await run('cron')).out).toContain('There are no jobs in');
    const section = await locks.acquire('cron:Reports.nightly', { waitMs: 60_000 });
    const other = await locks.acquire('cron:ill');
    await other.writeNote('no record');
    const [at, by] = [Date.UTC(2026, 10, 26, 3), 'web-1 7 shop\u001b[31m'];
    const begun = { startedAtMs: at + 40, by, token: section.token, skippedCount: 2 };
    const running = withBegun(newRecord('0 3 * * * Europe/Berlin', at - 1), {
      ...begun,
      tickMs: at,
    });
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

  it('shows nothing where nothing is held', async () => {
    const { code, lines } = await run('locks');
    expect([code, lines[0]]).toEqual([0, expect.stringMatching(/^0 held, 0 kept\. In /)]);
    expect((await run('locks --json')).lines.map(parsed)).toEqual([{ held: 0, kept: 0 }]);
  });

  it('shows each lock in the order of their names, who holds it and for how long', async () => {
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

  it('as JSON, tokens as text, no more than --limit says', async () => {
    const [job, order, counts] = (await run('locks --json --limit 2')).lines.map(parsed);
    expect(job).toMatchObject({ lock: 'job', state: 'kept', sinceMs: expect.any(Number) });
    expect(order).toMatchObject({ lock: 'order:11', state: 'held', token: `${held[0]!.token}` });
    expect(Date.parse(String(order!['since']))).toBe(order!['sinceMs']);
    expect(order!['leftMs']).toBeGreaterThan(0);
    expect(counts).toEqual({ held: 2, kept: 1, isCut: true, limit: 2 });
    expect((await run('locks --limit 1')).out).toContain('These are the first 1. Raise --limit');
  });

  it('no longer shows what was released', async () => {
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
    ['locks crate', 'one argument too many'],
  ])('`%s` is refused', async (words, said) => {
    const { code, err } = await command([...words.split(' '), ...absent(words)]);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });

  it('needs a store, and shows its own help beside that of its subcommand', async () => {
    expect((await command(['locks'])).err).toContain('Which store? Give --support');
    expect((await command(['locks', '--help'])).out).toMatch(/^snowflake locks \[options\]/);
    const { out } = await command(['locks', 'create', '--help']);
    expect(out).toMatch(/^snowflake locks create \[options\]/);
  });

  it('says that a store does not answer, in the time that is given', async () => {
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
