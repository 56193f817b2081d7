/**
 * Two regions with a real Redis each, and a registry of regions in each kind of store: claimed,
 * refused, stopped, killed and emptied. Also the output of `snowflake regions` and `snowflake
 * doctor`.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  BitLayout,
  startSnowflake,
  type LeaseStatus,
  type RunningSnowflake,
} from 'nestjs-snowflake';
import { systemTimers, type Timers } from '../../lib/time/timers.js';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { command } from '../cli/run-command.js';
import { quickFolder } from '../support/made-once.mjs';
import { until } from '../until.js';
import { RedisLab } from './redis-lab.js';

const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 5],
    ['worker', 5],
    ['sequence', 12],
  ],
});

/**
 * Shorter checks and waits where a conflict must show. A store's grants last as long as in
 * production.
 */
const FASTER = 8;
const faster: Timers = {
  after: (ms, run) => systemTimers.after(ms / FASTER, run),
  every: (ms, run) => systemTimers.every(ms / FASTER, run),
  cancel: (timer) => systemTimers.cancel(timer),
};

const lab = new RedisLab();
const folder = quickFolder('regions');
const running: RunningSnowflake[] = [];
let places: string[];

beforeAll(async () => {
  Logger.overrideLogger(false);
  const servers = [await lab.server(), await lab.server()];
  places = servers.map(({ url }) => url);
});
afterEach(() => Promise.all(running.splice(0).map((one) => one.close())));
afterAll(async () => {
  await lab.end();
  rmSync(folder, { recursive: true });
  Logger.overrideLogger(true);
});

async function start(
  support: string,
  regions: string,
  number: number,
  { application = 'shop', startTimeoutMs = 60_000, timers = faster } = {},
) {
  const workerFields = { region: number };
  const times = { timers, startTimeoutMs, callTimeoutMs: 20_000 };
  const options = { support, regions, layout, workerFields, application, ...times };
  const one = await startSnowflake(options);
  running.push(one);
  return { ids: one.ids, region: () => (one.ids.status as LeaseStatus).region! };
}

/** The registries of two regions, each in its own Redis. */
const both = () => {
  const namespace = randomUUID();
  return places.map((url) => `${url}?namespace=${namespace}`) as [string, string];
};

const doctor = (...args: string[]) => command(['doctor', ...args]);

const STORES: readonly [name: string, url: () => string][] = [
  ['Redis', () => `${process.env['REDIS_URL']!}?namespace=${randomUUID()}`],
  ['Valkey', () => `${process.env['VALKEY_URL']!}?namespace=${randomUUID()}`],
  ['PostgreSQL', () => `${process.env['DATABASE_URL']!}?replicated=false&${table()}`],
  ['MariaDB', () => `${process.env['MYSQL_URL']!}?replicated=false&${table()}`],
  ['etcd', () => `${process.env['ETCD_URL']!}?namespace=${randomUUID()}`],
  ['a folder', () => `file:${folder}/${randomUUID()}`],
];

const table = () => `table=regions_${randomUUID().replaceAll('-', '')}&namespace=shop-regions`;

describe.each(STORES)('with a registry of regions in %s', (_, urlOf) => {
  it('gives each region its number, and refuses it to another region', async () => {
    const regions = urlOf();
    // A busy store has as long to answer as in production.
    const timers = systemTimers;
    const [eu, us] = both();
    await command(['registry', 'create', '--yes', '--ttl', '10000', '--support', regions]);
    const first = await start(eu, regions, 3, { application: 'shop in eu', timers });
    await until(() => first.region().state === 'claimed');
    // The claim names the process that extended it last.
    const more = await start(eu, regions, 3, { application: 'shop in eu', timers });
    expect(more.region()).toEqual({ number: 3, state: 'claimed' });
    const second = await start(us, regions, 4, { application: 'shop in us', timers });
    expect(second.region()).toEqual({ number: 4, state: 'claimed' });
    const taken = start(us, regions, 3, { startTimeoutMs: 4000, timers });
    await expect(taken).rejects.toMatchObject({
      code: 'REGION_TAKEN',
      message: expect.stringMatching(/belongs to shop in eu of registry/),
    });

    const { out, code } = await command(['regions', '--regions', regions]);
    expect(code).toBe(0);
    expect(out).toMatch(/\n *3 +shop in eu of registry .* held\n/);
    expect(out).toMatch(/\n *4 +shop in us of registry .* held\n/);
    expect(out).toContain('0 is the lowest of the 32 numbers that was never used.');
    const asJson = await command(['regions', '--json'], { env: { SNOWFLAKE_REGIONS: regions } });
    const records = asJson.lines.map((line) => JSON.parse(line) as object);
    expect(records).toEqual([
      expect.objectContaining({ region: 3, isHeld: true }),
      expect.objectContaining({ region: 4, isHeld: true }),
      { numbers: 32, neverUsed: 0 },
    ]);
    const good = await doctor('--support', eu, '--regions', regions);
    expect(good.out).toMatch(/ok +regions +The number 3 is claimed by this registry: shop in eu/);
  });
});

describe('a registry of regions', () => {
  it('that stops or is killed stops no process, and later reports a number used by two', async () => {
    const global = await lab.server();
    const regions = `${global.url}?namespace=regions`;
    const [eu, us] = both();
    process.kill(global.pid, 'SIGSTOP');
    const [first, second] = await Promise.all([start(eu, regions, 3), start(us, regions, 3)]);
    expect([first.region().state, second.region().state]).toEqual(['unchecked', 'unchecked']);
    expect(first.ids.nextId()).toBeGreaterThan(0n);
    process.kill(global.pid, 'SIGCONT');
    const states = () => [first.region().state, second.region().state].toSorted();
    await until(
      () => states().join() === 'claimed,conflict',
      () => `${states().join()}`,
    );
    const [right, wrong] = first.region().state === 'claimed' ? [eu, us] : [us, eu];

    const bad = await doctor('--support', wrong, '--regions', regions);
    expect(bad.code).toBe(1);
    expect(bad.out).toMatch(
      /fault +regions +The number 3 belongs to shop of registry .* 1 worker id/,
    );
    const good = await doctor('--support', right, '--regions', regions);
    expect(good.out).toMatch(/ok +regions +The number 3 is claimed by this registry/);

    await global.stop();
    await until(() => states().join() === 'conflict,unchecked');
    const away = await doctor('--support', eu, '--regions', regions, '--timeout', '500');
    expect([away.code, away.out]).toEqual([
      1,
      expect.stringMatching(/fault +regions .*ECONNREFUSED/),
    ]);
    expect(first.ids.nextId()).toBeGreaterThan(0n);
  }, 120_000);

  it('is claimed in again after a pause, here an etcd', async () => {
    await using etcd = await startEtcd();
    const regions = `${etcd.url}?namespace=regions`;
    const [eu, us] = both();
    const [first, second] = await Promise.all([start(eu, regions, 3), start(us, regions, 4)]);
    const areClaimed = () => [first, second].every(({ region }) => region().state === 'claimed');
    await until(areClaimed);
    process.kill(etcd.pid, 'SIGSTOP');
    await until(
      () => first.region().state === 'unchecked' && second.region().state === 'unchecked',
    );
    process.kill(etcd.pid, 'SIGCONT');
    await until(areClaimed);
    await etcd.stop();
    await until(() => first.region().state === 'unchecked');
    const made = [first, second].flatMap(({ ids }) => ids.nextIds(100_000));
    expect(new Set(made).size).toBe(200_000);
  }, 120_000);

  it('in Redis gives each number to its former region after FLUSHALL', async () => {
    const global = await lab.server();
    const regions = `${global.url}?namespace=regions`;
    const [eu, us] = both();
    const [first, second] = [await start(eu, regions, 3), await start(us, regions, 4)];
    await lab.client(global.port).flushall();
    const listed = async () => (await command(['regions', '--regions', regions])).out;
    await until(async () => /\n *3 .*\n *4 /.test(await listed()));
    expect([first.region().state, second.region().state]).toEqual(['claimed', 'claimed']);
  });
});

describe('the doctor', () => {
  it('reports missing claims, and a registry that is not one of regions', async () => {
    const [eu, us] = both();
    const regions = `${places[0]}?namespace=${randomUUID()}`;
    const one = await startSnowflake({ support: eu, layout, workerFields: { region: 7 } });
    running.push(one);
    const none = await doctor('--support', eu, '--regions', regions);
    expect(none.out).toMatch(/warning +regions +No region has claimed a number there yet/);
    await start(us, regions, 4);
    const unclaimed = await doctor('--support', eu, '--regions', regions);
    expect(unclaimed.out).toMatch(/warning +regions +Nobody claims the number 7. 1 worker id/);
    const wrong = await doctor('--support', eu, '--regions', us);
    expect([wrong.code, wrong.out]).toEqual([
      1,
      expect.stringMatching(/fault +regions +This is no/),
    ]);
    const listed = await command(['regions', '--regions', us]);
    expect([listed.code, listed.err]).toEqual([
      1,
      expect.stringContaining('no registry of regions'),
    ]);
    const empty = await command(['regions', '--regions', `${places[0]}?namespace=${randomUUID()}`]);
    expect([empty.code, empty.err]).toEqual([
      1,
      expect.stringContaining('There is no registry yet'),
    ]);
    const unnamed = await command(['regions']);
    expect([unnamed.code, unnamed.err]).toEqual([2, expect.stringContaining('SNOWFLAKE_REGIONS')]);
  });

  it('compares two registries of one ID space', async () => {
    const [eu, us] = both();
    const against = async (support: string, other: string) =>
      (await doctor('--support', support, '--against', other)).out;
    expect(await against(eu, us)).toMatch(/note +two stores +One of the two has no registry/);
    // All worker IDs in both regions are held.
    const starts = [eu, eu, us, us].map((support) => startSnowflake({ support, layout: NARROW }));
    running.push(...(await Promise.all(starts)));
    expect(await against(eu, us)).toMatch(
      /fault +two stores +Worker ids 0, 1 are held in both, by different/,
    );
    expect(await against(eu, eu)).toMatch(/two stores +Both URLs lead to one registry/);
    const other = `${us}-other`;
    running.push(await startSnowflake({ support: other, layout: layouts53() }));
    expect(await against(eu, other)).toMatch(/ok +two stores +The layouts differ/);
    const apart = both();
    running.push(await startSnowflake({ support: apart[0], layout, workerFields: { region: 1 } }));
    running.push(await startSnowflake({ support: apart[1], layout, workerFields: { region: 2 } }));
    expect(await against(...apart)).toMatch(/ok +two stores .* no worker id is held in both now/);
  });
});

const NARROW = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['worker', 1],
    ['sequence', 12],
  ],
});

const layouts53 = () =>
  new BitLayout({
    fields: [
      ['timestamp', 41],
      ['worker', 6],
      ['sequence', 6],
    ],
  });
