/**
 * SnowflakeModule and startSnowflake() with a generator without a worker id: segments of a counter.
 */
import { describe, expect, it } from '@jest/globals';
import { SchedulerRegistry, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IDistributedSupport,
  IdMaker,
  SnowflakeModule,
  startSnowflake,
  type SnowflakeError,
} from 'nestjs-snowflake';
import { segments } from 'nestjs-snowflake/segments';
import { healthOf } from '../../lib/health/health-report.js';
import { resolveOptions, type SnowflakeModuleOptions } from '../../lib/nest/resolve-options.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { codeOf } from '../code-of.js';
import { CountingStore } from '../segments/counting-store.js';

const segmentsOf = (store: CountingStore) => segments({ store, counter: 'order', stepMin: 10 });

async function application(options: SnowflakeModuleOptions) {
  const app = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
  }).compile();
  await app.init();
  return app;
}

async function faultsOf(options: object): Promise<readonly string[]> {
  const error: unknown = await resolveOptions(options, true).catch((reason: unknown) => reason);
  return ((error as SnowflakeError).details?.['faults'] as string[]) ?? [];
}

describe('an application with segments', () => {
  it('makes dense numbers by the same IdMaker, and gives the rest back', async () => {
    const store = new CountingStore();
    const generator = segments({ store, counter: 'order', stepMin: 100, lastsMs: 1000 });
    const app = await application({ generator });
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

  it('has no job, no worker id, no layout, and says why', async () => {
    const store = new CountingStore();
    const app = await application({ generator: segmentsOf(store) });
    const ids = app.get(IdMaker);
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    for (const wanted of ['layout', 'workerIds', 'sharedLease'] as const) {
      expect(() => ids[wanted]).toThrow(
        new RegExp(`are numbers of the counter order .*, so its IdMaker has no \`${wanted}\``),
      );
      expect(codeOf(() => ids[wanted])).toBe('CONFIG_INVALID');
    }
    expect(codeOf(() => ids.parse(1n))).toBe('CONFIG_INVALID');
    expect(codeOf(() => ids.idRange(new Date(), new Date()))).toBe('CONFIG_INVALID');
    const support = app.get(IDistributedSupport);
    expect(support.location).toBe('a counting store');
    await expect(support.refreshAlive({} as never)).rejects.toThrow('no worker ids');
    await app.close();
  });

  it('shows how it stands', async () => {
    const store = new CountingStore();
    const time = new SettableTime();
    const generator = segmentsOf(store);
    const app = await application({ generator, clock: time, timers: time });
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

  it('a start that fails leaves nothing open', async () => {
    const store = new CountingStore();
    store.next = undefined;
    const starting = application({ generator: segmentsOf(store) });
    await expect(starting).rejects.toMatchObject({ code: 'COUNTER_ABSENT' });
    expect(store.closedCount).toBe(1);
  });

  it('starts without a number where it is lazy', async () => {
    const store = new CountingStore();
    store.isDown = true;
    const app = await application({ generator: segmentsOf(store), lazy: true });
    const ids = app.get(IdMaker);
    expect(codeOf(() => ids.nextId())).toBe('NOT_READY');
    store.isDown = false;
    expect(await ids.nextIdAsync()).toBe(1n);
    await app.close();
  });
});

describe('a script with segments', () => {
  it('gives back what it did not use', async () => {
    const store = new CountingStore();
    for (const first of [1n, 3n]) {
      await using snowflake = await startSnowflake({ generator: segmentsOf(store) });
      expect(snowflake.ids.nextIds(2)).toEqual([first, first + 1n]);
    }
    expect(store.next).toBe(5n);
  });
});

describe('options', () => {
  it('that say something of a worker id are refused beside it, all at once', async () => {
    const store = new CountingStore();
    const generator = segments({ store, counter: 'a b', stepMin: 0, skip: 1 });
    const given = { generator, support: 'redis://x', workerId: 7, leaseTtlMs: 60_000, wrong: 1 };
    expect(await faultsOf({ ...given, callTimeoutMs: 0, lazy: 1 })).toEqual([
      expect.stringContaining('`callTimeoutMs`'),
      expect.stringContaining('`wrong` is unknown'),
      expect.stringContaining('`generator` and `support` exclude each other'),
      expect.stringContaining('`generator` and `workerId` exclude each other'),
      expect.stringContaining('`generator` and `leaseTtlMs` exclude each other'),
      expect.stringContaining('`lazy`'),
      expect.stringContaining('`counter`'),
      expect.stringContaining('`stepMin`'),
      expect.stringContaining('`skip`'),
    ]);
  });

  it.each([
    [7, 'got number'],
    [{}, 'got object'],
    [{ kind: 'segments' }, 'got object'],
    ['postgres://app:secret@db/shop', 'No generator handles this URL'],
    ['segments+nope://app:secret@db/shop?counter=x', 'No counter store handles this URL'],
    ['segments+postgres://app:secret@db/shop?counter=x&stepMax=a', '`stepMax`'],
  ])('%j is no generator', async (generator, said) => {
    const [fault] = await faultsOf({ generator });
    expect(fault).toContain(said);
    expect(fault).not.toContain('secret');
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
  ])('of segments %#', async (options, said) => {
    const [fault] = await faultsOf({ generator: segments(options as never) });
    expect(fault).toContain(said);
  });

  it('a fixed start is refused where the counter can be lost', async () => {
    const store = Object.assign(new CountingStore(), { lossWindowMs: 1000 });
    const [fault] = await faultsOf({ generator: segments({ store, counter: 'x', startAt: 1n }) });
    expect(fault).toContain('A fixed `startAt` is refused');
  });

  it('the same store twice is one store', async () => {
    const store = new CountingStore();
    const [fault] = await faultsOf({
      generator: segments({ stores: [store, store], counter: 'x' }),
    });
    expect(fault).toContain('twice');
  });
});
