/**
 * Two regions, each with a registry of its own in a real Redis, and a registry of regions in etcd:
 * what applications, `snowflake regions` and `snowflake doctor` say of their numbers.
 */
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';
import type { SnowflakeError } from '../../lib/errors.js';
import { until } from '../until.js';
import { command } from './run-command.js';

const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 3],
    ['worker', 7],
    ['sequence', 12],
  ],
});

const named = (url: string) => `${url}?namespace=${randomUUID()}`;
const registry = () => named(process.env['REDIS_URL']!);

const running: RunningSnowflake[] = [];

async function started(support: string, region: number, regions?: string) {
  const given = { support, layout, workerFields: { region }, startTimeoutMs: 10_000, regions };
  const snowflake = await startSnowflake(given);
  running.push(snowflake);
  return snowflake.ids;
}

const close = () => Promise.all(running.splice(0).map((each) => each.close()));
afterEach(close);
afterAll(close);

describe('regions', () => {
  it('with one number: the second one does not start, and doctor names both', async () => {
    const [eu, us, regions] = [registry(), registry(), named(process.env['ETCD_URL']!)];
    const none = await command(['regions', '--regions', regions]);
    expect([none.code, none.out]).toEqual([0, expect.stringContaining('no registry')]);
    const ids = await started(eu, 3, regions);
    await until(() => (ids.status as { region?: { state: string } }).region?.state === 'claimed');
    // As many processes of one region as there may be.
    await started(eu, 3, regions);
    const second = await started(us, 3, regions).catch((error: SnowflakeError) => error);
    expect(second).toMatchObject({ code: 'REGION_TAKEN', details: { number: 3 } });
    const list = await command(['regions', '--regions', regions]);
    expect(list.out).toMatch(/^ +3 .* held$/m);
    expect(list.out).toContain('0 is the lowest of the 8 numbers that was never used.');
    const well = await command(['doctor', '--support', eu, '--regions', regions]);
    expect(well.out).toMatch(/^ok +regions +The number 3 is claimed by this registry/m);

    // Without the option nobody keeps it from starting; what it does is found all the same.
    const other = await started(us, 3);
    expect(other.status.kind).toBe('lease');
    const doctor = await command(['doctor', '--support', us, '--regions', regions]);
    expect([doctor.code, doctor.out]).toEqual([
      1,
      expect.stringMatching(/^fault +regions +The number 3 belongs to/m),
    ]);
    const twice = await command(['doctor', '--support', us, '--against', eu]);
    expect([twice.code, twice.out]).toEqual([
      1,
      expect.stringMatching(/^fault +two stores +Worker ids 38\d/m),
    ]);
  });

  it('with numbers of their own make ids while the registry of regions is away', async () => {
    const away = 'redis://127.0.0.1:1?namespace=regions';
    const all = [await started(registry(), 3, away), await started(registry(), 4, away)];
    const made = all.flatMap((ids) => ids.nextIds(100_000));
    expect(new Set(made).size).toBe(200_000);
    for (const ids of all) expect(ids.status).toMatchObject({ region: { state: 'unchecked' } });
  });

  it('need a number, and a registry that outlives the process', async () => {
    const regions = registry();
    const fault = (options: object) =>
      startSnowflake({ layout, regions, ...options }).then(
        () => 'started',
        (error: Error) => error.message,
      );
    expect(await fault({ support: registry() })).toContain('none is fixed');
    expect(await fault({ support: 'static:384', workerFields: { region: 3 } })).toContain(
      'needs a `support` with a registry',
    );
  });
});
