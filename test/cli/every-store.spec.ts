/**
 * The commands of an operator on every store that has a registry, from the first lease to the
 * release: each says the same of each.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { supportOf } from '../../lib/stores/schemes.js';
import { layouts } from '../../lib/core/layout/presets.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { leased } from '../stores/sql-leases.js';
import { SqlLab } from '../stores/sql-lab.js';
import { command } from './run-command.js';
import { quickFolder } from '../support/quick-folder.mjs';

const lab = new SqlLab();
const folder = quickFolder('commands');
const own = `namespace=${randomUUID()}`;
const ofSql = `${own}&table=${lab.table}&replicated=false`;

const HOUR_MS = 3_600_000;
const supports: IDistributedSupport[] = [];

afterAll(async () => {
  for (const support of supports) await support.close?.();
  const sql = `DROP TABLE IF EXISTS ${lab.table}`;
  await Promise.all([lab.pool().query(sql), lab.mysql().query(sql)]);
  await lab.end();
  rmSync(folder, { recursive: true });
});

const STORES = [
  { store: 'redis', url: `${process.env['REDIS_URL']}?${own}` },
  { store: 'postgres', url: `${process.env['DATABASE_URL']}?${ofSql}` },
  { store: 'mariadb', url: `${process.env['MYSQL_URL']}?${ofSql}` },
  { store: 'sqlite', url: `sqlite:${folder}/shop.db?${ofSql}` },
  { store: 'etcd', url: `${process.env['ETCD_URL']}?${own}` },
  { store: 'file', url: `file:${folder}/registry?${own}` },
];

describe.each(STORES)('$store', ({ url }) => {
  const run = (words: string) => command([...words.split(' '), '--support', url]);

  it('is created, leased from, looked at and released', async () => {
    expect(await run('registry create --yes')).toMatchObject({ code: 0 });
    expect((await run('registry create --yes')).err).toContain('already exists');
    const support = await supportOf(url, new Map());
    supports.push(support);
    const { fingerprint } = layouts.snowflake();
    const { workerId } = await leased(support, { fingerprint });
    const workers = (await run('workers')).out;
    expect(workers).toMatch(new RegExp(`^ *${workerId} +h\\w* +7 +shop `, 'm'));
    expect(workers).toContain('1 held, 1023 of 1024 free.');
    for (let count = 0; count < 2; count++) await leased(support, { fingerprint });
    const { lines } = await run('workers --limit 2');
    expect(lines.filter((line) => line.includes(' shop '))).toHaveLength(2);
    expect(lines.at(-1)).toContain('more than 2 worker ids; these are some.');
    expect((await run('workers --limit 3')).out).toContain('3 held, 1021 of 1024 free.');
    expect((await run('registry inspect')).out).toMatch(/^era +1$/m);
    const { out } = await run('doctor');
    for (const topic of ['connection', 'clock', 'registry', 'worker ids']) {
      expect(out).toMatch(new RegExp(`^ok +${topic} `, 'm'));
    }
    expect(await run(`release ${workerId} --yes`)).toMatchObject({ code: 0 });
    expect((await run('workers')).out).toContain('1 not held but not free yet');
  });

  it('is not brought back from a time that a survivor of a loss has told', async () => {
    const wrong = url.replace(own, `namespace=${randomUUID()}`);
    const there = (words: string) => command([...words.split(' '), '--support', wrong]);
    const support = await supportOf(wrong, new Map());
    supports.push(support);
    const { fingerprint } = layouts.snowflake();
    const timeMs = Date.now();
    const nowMs = timeMs + 6 * HOUR_MS;
    const reckoned = { incarnation: 'lost', server: 'lost', nowMs, timeMs };
    const { floorMs } = await leased(support, { fingerprint, wallMs: timeMs, reckoned });
    expect(floorMs).toBeGreaterThan(nowMs);
    expect((await there('doctor')).out).toMatch(/^warning +clock .*ahead of it/m);
    const refused = await there('registry settle --yes');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('lost data') });
    expect((await there('doctor')).out).toContain('ahead of it');
  });
});
