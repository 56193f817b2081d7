/**
 * The fake for tests of applications: the same ids in each run and in each application, and all
 * that an IdMaker has.
 */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, SnowflakeModule, layouts } from 'nestjs-snowflake';
import { fakeIdMaker } from 'nestjs-snowflake/testing';

describe('fakeIdMaker()', () => {
  it('counts from 1, whichever way it is asked', async () => {
    const ids = fakeIdMaker();
    const target = new BigUint64Array(2);
    ids.fill(target);
    expect([...target, ids.nextId()]).toEqual([1n, 2n, 3n]);
    expect([ids.nextIdString(), ids.nextIdNumber()]).toEqual(['4', 5]);
    expect([ids.nextIds(2), ids.nextIdStrings(2)]).toEqual([
      [6n, 7n],
      ['8', '9'],
    ]);
    expect(await ids.nextIdAsync()).toBe(10n);
    await expect(ids.nextIdAsync({ signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
    expect(ids.status).toMatchObject({ state: 'active', workerId: 0, issuedCount: 10 });
  });

  it('has everything that an IdMaker has', () => {
    const fake = fakeIdMaker() as unknown as Record<string, unknown>;
    const descriptors = Object.getOwnPropertyDescriptors(IdMaker.prototype);
    for (const [name, { value }] of Object.entries(descriptors)) {
      if (name === 'constructor' || name === 'sharedLease') continue;
      expect([name, typeof fake[name]]).toEqual([name, value ? 'function' : 'object']);
    }
    expect(() => fakeIdMaker().sharedLease).toThrow(/no lease to share/);
  });

  it('makes ids of a layout when it begins with one', () => {
    const layout = layouts.snowflake();
    const timestampMs = Date.parse('2026-01-01T00:00:00Z');
    const ids = fakeIdMaker({ from: layout.compose({ timestampMs, workerId: 1 }) });
    const parts = ids.nextIds(3).map((id) => ids.parse(id));
    expect(parts.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
    expect(parts[2]).toMatchObject({ timestampMs, workerId: 1 });
  });

  it.each([-1, -1n, 1.5, Number.NaN, 2 ** 53, '1', null])('refuses to begin with %p', (from) => {
    expect(() => fakeIdMaker({ from: from as never })).toThrow(/Expected `from` to be a bigint or/);
  });

  it('gives the same ids in the second application of a process as in the first', async () => {
    const made: string[][] = [];
    for (let n = 0; n < 2; n++) {
      const options = { support: 'redis://127.0.0.1:1' };
      const app = await Test.createTestingModule({
        imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
      })
        .overrideProvider(IdMaker)
        .useValue(fakeIdMaker())
        .compile();
      await app.init();
      made.push(app.get(IdMaker).nextIdStrings(3));
      await app.close();
    }
    expect(made).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
    ]);
  });
});

describe('an application that reads the environment', () => {
  const variable = 'SNOWFLAKE_TEST_SUPPORT';
  const start = async () => {
    const options = { useFactory: () => ({ support: process.env[variable] }) };
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRootAsync(options)],
    })
      .overrideProvider(IdMaker)
      .useValue(fakeIdMaker())
      .compile();
    await app.init();
    return app;
  };

  afterEach(() => void delete process.env[variable]);

  it('needs the variable in its tests too, and contacts no store', async () => {
    await expect(start()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    process.env[variable] = 'redis://127.0.0.1:1';
    const app = await start();
    expect(app.get(IdMaker).nextIdString()).toBe('1');
    await app.close();
  });
});

describe('an IdMaker that is overridden', () => {
  const nodeEnv = process.env['NODE_ENV'];

  afterEach(() => {
    process.env['NODE_ENV'] = nodeEnv;
    Logger.overrideLogger(false);
  });

  async function warningsIn(environment: string): Promise<unknown[]> {
    const warn = jest.fn();
    const module = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: 990 })],
    })
      .overrideProvider(IdMaker)
      .useValue(fakeIdMaker())
      .compile();
    Logger.overrideLogger({ log: () => undefined, warn, error: () => undefined });
    process.env['NODE_ENV'] = environment;
    await module.init();
    await module.close();
    return warn.mock.calls.map(([text]) => text);
  }

  it('is a warning in production, and none elsewhere', async () => {
    expect(await warningsIn('production')).toEqual([
      expect.stringMatching(
        /^IdMaker is overridden, so ids come from a fake .* Remove the override/,
      ),
    ]);
    expect(await warningsIn('test')).toEqual([]);
  });
});
