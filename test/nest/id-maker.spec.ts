/**
 * IdMaker when the IDs of a tick are used up, with time that the test moves. Also segments, and the
 * fake for tests.
 */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  currentIdMaker,
  getIdMakerToken,
  IDistributedSupport,
  IdMaker,
  layouts,
  type SnowflakeError,
  SnowflakeModule,
} from 'nestjs-snowflake';
import {
  type SegmentsModuleOptions,
  SegmentsModule,
  startSegments,
} from 'nestjs-snowflake/segments';
import { fakeIdMaker, SettableTime } from 'nestjs-snowflake/testing';
import { generatorView } from '../../lib/dashboard/dashboard.controller.js';
import { DashboardGenerators } from '../../lib/dashboard/store-lists.js';
import { healthOf } from '../../lib/health/health-report.js';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { codeOf } from '../until.js';
import { CountingStore } from '../segments/segment-simulation.js';

async function start(workerId: number) {
  const time = new SettableTime();
  let lookCount = 0;
  const clock = { now: () => (lookCount++, time.now()) };
  const options = { workerId, clock, timers: time, aheadMsMax: 0 };
  const app = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
  }).compile();
  await app.init();
  const looks = () => lookCount;
  return { app, time, ids: app.get(IdMaker), looks };
}

describe('when the IDs of a tick are used up', () => {
  it('nextIdAsync() yields to the event loop, rarely reads the clock, and is counted', async () => {
    const { app, time, ids, looks } = await start(800);
    ids.nextIds(4096);
    const before = looks();
    let made: bigint | undefined;
    const waiting = ids.nextIdAsync().then((id) => (made = id));
    await new Promise((resolve) => setImmediate(resolve));
    expect({ made, looks: looks() - before }).toEqual({ made: undefined, looks: 1 });
    expect(ids.status.waitCount).toBe(1);
    const spentMs = time.now();
    await time.advance(5);
    await waiting;
    expect(ids.parse(made!).timestampMs).toBe(spentMs + 1);
    await app.close();
  });

  it('every waiting caller gets an ID of its own', async () => {
    const { app, time, ids } = await start(801);
    ids.nextIds(4096);
    const waiting = Array.from({ length: 300 }, () => ids.nextIdAsync());
    await time.advance(5);
    expect(new Set(await Promise.all(waiting)).size).toBe(300);
    await app.close();
  });
});

describe('nextIdStrings()', () => {
  it('returns the IDs as strings', async () => {
    const { app, ids } = await start(802);
    const texts = ids.nextIdStrings(1000);
    expect(texts.map((text) => ids.parse(text).sequence)).toEqual([...texts.keys()]);
    expect(ids.nextIdStrings(0)).toEqual([]);
    expect(() => ids.nextIdStrings(-1)).toThrow(/`count`/);
    expect(ids.layout.timestampMsOf(texts[0]!)).toBe(ids.parse(texts[0]!).timestampMs);
    expect(() => ids.layout.timestampMsOf('x')).toThrow(/Expected an id of this layout/);
    await app.close();
  });
});

/*
 * SegmentsModule and startSegments() generate IDs from segments of a counter, without a worker ID.
 */
const segmentsOf = (store: CountingStore) => ({ store, counter: 'order', stepMin: 10 });

async function application(options: SegmentsModuleOptions) {
  const app = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SegmentsModule.forRoot(options)],
  }).compile();
  await app.init();
  return app;
}

async function faultsOf(options: object): Promise<readonly string[]> {
  const error: unknown = await startSegments(options as never).catch((reason: unknown) => reason);
  return ((error as SnowflakeError).details?.['faults'] as string[]) ?? [];
}

describe('an application with segments', () => {
  it('generates consecutive numbers with an IdMaker, and returns the unused ones', async () => {
    const store = new CountingStore();
    const options = { store, counter: 'order', stepMin: 100, lastsMs: 1000 };
    const app = await application(options);
    const ids = app.get(IdMaker);
    expect([ids.nextId(), ids.nextIdString(), ids.nextIdNumber()]).toEqual([1n, '2', 3]);
    expect([ids.nextIds(2), ids.nextIdStrings(1), await ids.nextIdAsync()]).toEqual([
      [4n, 5n],
      ['6'],
      7n,
    ]);
    await app.close();
    expect([store.next, store.closedCount]).toEqual([8n, 1]);
    expect(codeOf(() => ids.nextId())).toBe('NOT_READY');
  });

  it('has no job, no worker ID and no layout, and its errors explain why', async () => {
    const store = new CountingStore();
    const app = await application(segmentsOf(store));
    const ids = app.get(IdMaker);
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    const reason = 'are made without a worker id';
    const reasons = { layout: 'are numbers of a counter', workerIds: reason, sharedLease: reason };
    for (const wanted of ['layout', 'workerIds', 'sharedLease'] as const) {
      expect(() => ids[wanted]).toThrow(
        new RegExp(`${reasons[wanted]}.*, so its IdMaker has no \`${wanted}\``),
      );
      expect(codeOf(() => ids[wanted])).toBe('CONFIG_INVALID');
    }
    expect(codeOf(() => ids.parse(1n))).toBe('CONFIG_INVALID');
    expect(codeOf(() => ids.idRange(new Date(), new Date()))).toBe('CONFIG_INVALID');
    expect(() => app.get(IDistributedSupport)).toThrow(/could not find/);
    await app.close();
  });

  it('reports its state in the status and in the health check', async () => {
    const store = new CountingStore();
    const time = new SettableTime();
    const app = await application({ ...segmentsOf(store), clock: time, timers: time });
    const ids = app.get(IdMaker);
    expect(ids.status).toMatchObject({ kind: 'segments', state: 'active', buffered: 10, step: 10 });
    expect(healthOf(ids)).toMatchObject({ status: 'up', health: { buffered: 10 } });
    store.isDown = true;
    ids.nextIds(8);
    await time.advance(1000);
    const { status, health } = healthOf(ids);
    expect([status, health]).toMatchObject(['degraded', { workerId: undefined, buffered: 2 }]);
    expect(healthOf(ids, { leaseMsMin: 60_000 }).status).toBe('down');
    ids.nextIds(2);
    expect(codeOf(() => ids.nextId())).toBe('SEGMENT_SPENT');
    expect(healthOf(ids).status).toBe('down');
    const waiting = ids.nextIdAsync();
    store.isDown = false;
    await time.advance(2000);
    expect(await waiting).toBe(11n);
    await app.close();
    expect(healthOf(ids).status).toBe('down');
  });

  it('leaves nothing open if its start fails', async () => {
    const store = new CountingStore();
    store.next = undefined;
    const starting = application(segmentsOf(store));
    await expect(starting).rejects.toMatchObject({ code: 'COUNTER_ABSENT' });
    expect(store.closedCount).toBe(1);
  });

  it('starts without a number if it is lazy', async () => {
    const store = new CountingStore();
    store.isDown = true;
    const app = await application({ ...segmentsOf(store), lazy: true });
    const ids = app.get(IdMaker);
    expect(codeOf(() => ids.nextId())).toBe('NOT_READY');
    store.isDown = false;
    expect(await ids.nextIdAsync()).toBe(1n);
    await app.close();
  });
});

describe('segments next to snowflake IDs', () => {
  const both = (...names: (string | undefined)[]) => {
    const store = new CountingStore();
    const [name, other] = names;
    return Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        SnowflakeModule.forRoot({ workerId: 803, name }),
        SegmentsModule.forRoot({ ...segmentsOf(store), name: other }),
      ],
    });
  };

  it('are two generators in one application', async () => {
    const app = await both(undefined, 'invoices').compile();
    await app.init();
    const [ids, numbers] = [app.get(IdMaker), app.get<IdMaker>(getIdMakerToken('invoices'))];
    expect([ids.status.kind, numbers.status.kind]).toEqual(['lease', 'segments']);
    expect(currentIdMaker('invoices')).toBe(numbers);
    expect(numbers.nextId()).toBe(1n);
    const shown = new DashboardGenerators(app.get(DiscoveryService, { strict: false })).all();
    expect(shown.map(generatorView)).toMatchObject([
      { support: 'the configuration', workerIds: { min: 0, max: 1023 } },
      { name: 'invoices', support: 'a counting store', buffer: { kind: 'segments' } },
    ]);
    await app.close();
  });

  it('are refused if both have the same name', async () => {
    await expect(both('a', 'a').compile()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining("registered 2 times with the name 'a'") as unknown,
    });
  });

  it('contact no store if a fake replaces the IdMaker', async () => {
    const store = new CountingStore();
    const app = await Test.createTestingModule({
      imports: [SegmentsModule.forRootAsync({ useFactory: () => segmentsOf(store) })],
    })
      .overrideProvider(IdMaker)
      .useValue(fakeIdMaker())
      .compile();
    await app.init();
    expect(app.get(IdMaker).nextIdString()).toBe('1');
    await app.close();
    expect([store.next, store.closedCount]).toEqual([new CountingStore().next, 1]);
  });
});

describe('a script with segments', () => {
  it('returns the numbers that it did not use', async () => {
    const store = new CountingStore();
    for (const first of [1n, 3n]) {
      await using snowflake = await startSegments(segmentsOf(store));
      expect(snowflake.ids.nextIds(2)).toEqual([first, first + 1n]);
    }
    expect(store.next).toBe(5n);
  });
});

describe('options of segments', () => {
  it('are refused all at once, including the options of a worker ID', async () => {
    const store = new CountingStore();
    const given = { store, counter: 'a b', stepMin: 0, lossGap: 1, workerId: 7, wrong: 1 };
    expect(await faultsOf({ ...given, callTimeoutMs: 0, lazy: 1 })).toEqual([
      expect.stringContaining('`lazy`'),
      expect.stringContaining('`callTimeoutMs`'),
      expect.stringContaining('SegmentsModule has no option `workerId`'),
      expect.stringContaining('SegmentsModule has no option `wrong`'),
      expect.stringContaining('`counter`'),
      expect.stringContaining('`stepMin`'),
      expect.stringContaining('`lossGap`'),
    ]);
  });

  it.each([
    [7, 'Expected `store`'],
    [{}, 'Expected `store`'],
    ['nope://app:secret@db/shop', 'No counter store handles this URL'],
    ['postgres://app:secret@db/shop?counter=x', 'known are'],
  ])('refuse %j as a store, together with the other errors', async (store, said) => {
    const faults = await faultsOf({ store, counter: 'a b' });
    expect(faults.join('\n')).not.toContain('secret');
    expect(faults.toSorted()).toEqual(
      expect.arrayContaining([expect.stringContaining('`counter`'), expect.stringContaining(said)]),
    );
    expect(faults).toHaveLength(2);
  });

  it.each([undefined, null, 'redis://x'])('are refused if they are %j', async (options) => {
    expect(await faultsOf(options as never)).toEqual([expect.stringContaining("counter: 'order'")]);
  });

  it('leave no store open that was created from a URL, if they are refused', async () => {
    const closing = jest.spyOn(RedisCounters.prototype, 'close');
    await faultsOf({ stores: ['redis://127.0.0.1:1', new CountingStore()], counter: 'a b' });
    expect(closing).toHaveBeenCalledTimes(1);
    closing.mockRestore();
  });

  it.each([
    [{ counter: 'x', store: new CountingStore(), stores: [] }, 'exclude each other'],
    [{ counter: 'x' }, '`store`'],
    [{ counter: 'x', stores: [] }, '`stores`'],
    [{ counter: 'x', stores: [{}] }, '`stores`'],
    [{ counter: 'x', store: new CountingStore(), stepMin: 10, stepMax: 9 }, '`stepMax` (9)'],
    [{ counter: 'x', store: new CountingStore(), lastsMs: 1 }, '`lastsMs`'],
    [{ counter: 'x', store: new CountingStore(), startAt: -1n }, '`startAt`'],
    [{ counter: 'x', store: new CountingStore(), step: 1 }, 'no option `step`'],
  ])('are refused: case %#', async (options, said) => {
    const [fault] = await faultsOf(options);
    expect(fault).toContain(said);
  });

  it('refuse a fixed start if the counter can be lost', async () => {
    const store = Object.assign(new CountingStore(), { lossWindowMs: 1000 });
    const [fault] = await faultsOf({ store, counter: 'x', startAt: 1n });
    expect(fault).toContain('A fixed `startAt` is refused');
  });

  it('refuse a duplicate store', async () => {
    const store = new CountingStore();
    const [fault] = await faultsOf({ stores: [store, store], counter: 'x' });
    expect(fault).toContain('twice');
  });
});

/*
 * The fake for tests of applications: it returns the same IDs in each run and in each application,
 * and has every member of an IdMaker.
 */
describe('fakeIdMaker()', () => {
  it('counts from 1 with every method', async () => {
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

  it('has every member of an IdMaker', () => {
    const fake = fakeIdMaker() as unknown as Record<string, unknown>;
    const descriptors = Object.getOwnPropertyDescriptors(IdMaker.prototype);
    for (const [name, { value }] of Object.entries(descriptors)) {
      if (name === 'constructor' || name === 'sharedLease') continue;
      expect([name, typeof fake[name]]).toEqual([name, value ? 'function' : 'object']);
    }
    expect(() => fakeIdMaker().sharedLease).toThrow(/no lease to share/);
  });

  it('generates IDs of a layout if its first ID belongs to that layout', () => {
    const layout = layouts.snowflake();
    const timestampMs = Date.parse('2026-01-01T00:00:00Z');
    const ids = fakeIdMaker({ from: layout.compose({ timestampMs, workerId: 1 }) });
    const parts = ids.nextIds(3).map((id) => ids.parse(id));
    expect(parts.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
    expect(parts[2]).toMatchObject({ timestampMs, workerId: 1 });
  });

  it.each([-1, -1n, 1.5, Number.NaN, 2 ** 53, '1', null])('refuses to start from %p', (from) => {
    expect(() => fakeIdMaker({ from: from as never })).toThrow(/Expected `from` to be a bigint or/);
  });

  it('returns the same IDs in the second application of a process as in the first', async () => {
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

  it('needs the variable in its tests as well, and contacts no store', async () => {
    await expect(start()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    process.env[variable] = 'redis://127.0.0.1:1';
    const app = await start();
    expect(app.get(IdMaker).nextIdString()).toBe('1');
    await app.close();
  });
});

describe('an overridden IdMaker', () => {
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

  it('causes a warning in production, and none elsewhere', async () => {
    expect(await warningsIn('production')).toEqual([
      expect.stringMatching(
        /^IdMaker is overridden, so ids come from a fake .* Remove the override/,
      ),
    ]);
    expect(await warningsIn('test')).toEqual([]);
  });
});
