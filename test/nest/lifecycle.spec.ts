/**
 * The generator's lifecycle in an application: ready before the first hook and available until
 * after the last one, in any order of imports.
 */
import v8 from 'node:v8';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  ConsoleLogger,
  type DynamicModule,
  Global,
  Injectable,
  Logger,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  type IDistributedSupport,
  IdMaker,
  MemoryRows,
  MemorySupport,
  RefreshAlive,
  SnowflakeError,
  SnowflakeModule,
  type SnowflakeModuleOptions,
  StaticSupport,
} from 'nestjs-snowflake';
import { fakeIdMaker, SettableTime } from 'nestjs-snowflake/testing';
import { currentIdMaker } from '../../lib/nest/id-maker.js';
import { startFirstEndLast } from '../../lib/nest/lifecycle.js';
import { SNOWFLAKE_LIFECYCLE } from '../../lib/nest/tokens.js';
import { turn } from '../../lib/time/timers.js';

/** How long a slow message consumer takes to finish its work. */
const DRAIN_MS = 600_000;

/** Time that the test moves. Nest's scheduler can clear its intervals as it clears real ones. */
class SchedulerTime extends SettableTime {
  override every(ms: number, run: () => void): TimerHandle {
    const handle = setInterval(() => undefined, 1_000_000_000).unref();
    const isCleared = () => (handle as { _destroyed?: boolean })._destroyed;
    this.stops.set(
      handle,
      super.every(ms, () => isCleared() || run()),
    );
    return handle;
  }

  override cancel(timer: TimerHandle): void {
    clearInterval(timer as NodeJS.Timeout);
    super.cancel(this.stops.get(timer) ?? timer);
  }

  private readonly stops = new Map<TimerHandle, TimerHandle>();
}

type TimerHandle = ReturnType<SettableTime['every']>;

interface World {
  readonly time: SettableTime;
  readonly support: MemorySupport;
  readonly snowflake: DynamicModule;
}

function world(): World {
  const time = new SchedulerTime();
  const support = new MemorySupport({ rows: new MemoryRows(time) });
  const options = { support, clock: time, timers: time };
  return { time, support, snowflake: SnowflakeModule.forRoot(options) };
}

async function heldCountOf({ support }: Pick<World, 'support'>): Promise<number> {
  return (await support.workers()).filter(({ holder }) => holder !== undefined).length;
}

/** Moves the time until the work is done, because a start may wait for the clock. */
async function settle(time: SettableTime, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = () => (isOver = true);
  work.then(over, over);
  while (!isOver) await time.advance(100);
}

/** A global module of the application that generates an ID in its first and in its last hook. */
function draining({ time, support }: World) {
  const seen = { ids: [] as string[], heldCount: -1, isRenewed: false };
  @Injectable()
  class Consumer implements OnModuleInit, OnApplicationShutdown {
    constructor(private readonly ids: IdMaker) {}

    onModuleInit(): void {
      seen.ids.push(this.ids.nextIdString());
    }

    async onApplicationShutdown(): Promise<void> {
      await time.advance(DRAIN_MS);
      seen.heldCount = await heldCountOf({ support });
      const { leaseEndsAt, readAt } = this.ids.status;
      seen.isRenewed = leaseEndsAt! > readAt;
      seen.ids.push(this.ids.nextIdString());
    }
  }
  @Global()
  @Module({ providers: [Consumer] })
  class Consumers {}
  return { seen, Consumers };
}

describe('a global module of the application, whatever the order of imports', () => {
  it.each(['first', 'last'])('has IDs in its first and last hook, listed %s', async (location) => {
    const around = world();
    const { seen, Consumers } = draining(around);
    const ours = [around.snowflake, ScheduleModule.forRoot()];
    const imports = location === 'first' ? [Consumers, ...ours] : [...ours, Consumers];
    const app = await Test.createTestingModule({ imports }).compile();
    await settle(around.time, app.init());
    await app.close();
    // For ten lease lengths, only renewals kept the range ahead of the clock.
    const ids = [expect.any(String), expect.any(String)];
    expect(seen).toEqual({ ids, heldCount: 1, isRenewed: true });
    expect(await heldCountOf(around)).toBe(0);
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    const refresh = jest.spyOn(around.support, 'refreshAlive');
    await around.time.advance(DRAIN_MS);
    expect(refresh).not.toHaveBeenCalled();
  });
});

describe('a version of Nest without a writable distance of modules', () => {
  const moduleWith = (more: object) => ({
    providers: new Map([[SNOWFLAKE_LIFECYCLE, {}]]),
    ...more,
  });

  it.each([
    ['no distance', moduleWith({})],
    ['a distance that can only be read', Object.freeze(moduleWith({ distance: 1 }))],
    ['no providers', {}],
  ])('is left unchanged: %s', (_, module) => {
    const before = { ...module };
    const modules = new Map([['ours', module]]) as unknown as ModulesContainer;
    expect(() => startFirstEndLast(modules, SNOWFLAKE_LIFECYCLE)).not.toThrow();
    expect({ ...module }).toEqual(before);
    expect(() => startFirstEndLast(undefined, SNOWFLAKE_LIFECYCLE)).not.toThrow();
  });

  it('lets the order of imports decide, and refuses IDs instead of duplicating them', async () => {
    const around = world();
    const { seen, Consumers } = draining(around);
    const imports = [ScheduleModule.forRoot(), Consumers, around.snowflake];
    const app = await Test.createTestingModule({ imports })
      .overrideProvider(ModulesContainer)
      .useValue(new Map())
      .setLogger(new ConsoleLogger({ logLevels: [] }))
      .compile();
    await expect(app.init()).rejects.toMatchObject({ code: 'NOT_READY' });
    await app.close();
    expect(seen.ids).toEqual([]);
    expect(await heldCountOf(around)).toBe(0);
  });
});

/*
 * What an application may do to the generator: log with a logger that throws, pass a support whose
 * advice fails, start while Node builds a snapshot, or replace the IdMaker. The lease survives all
 * of it.
 */
describe('an application that starts before the previous one closes, as in a hot reload', () => {
  it('generates other IDs with another worker ID, and continues after that close', async () => {
    const time = new SchedulerTime();
    const rows = new MemoryRows(time);
    const started = async () => {
      const support = new MemorySupport({ rows });
      const snowflake = SnowflakeModule.forRoot({ support, clock: time, timers: time });
      const imports = [ScheduleModule.forRoot(), snowflake];
      const app = await Test.createTestingModule({ imports }).compile();
      await settle(time, app.init());
      return app;
    };
    const old = await started();
    const { layout } = old.get(IdMaker);
    const before = currentIdMaker().nextIdStrings(100);
    const closing = old.close();
    const app = await started();
    const during = currentIdMaker().nextIdStrings(100);
    await settle(time, closing);
    const after = currentIdMaker().nextIdStrings(100);
    expect(new Set([...before, ...during, ...after]).size).toBe(300);
    const workersOf = (ids: string[]) => [...new Set(ids.map((id) => layout.parse(id).workerId))];
    expect(new Set([...workersOf(before), ...workersOf([...during, ...after])]).size).toBe(2);
    await settle(time, app.close());
  });

  it('is refused the static worker ID of the previous one until that one has closed', async () => {
    const started = async () => {
      const imports = [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: 911 })];
      const app = await Test.createTestingModule({ imports }).compile();
      return app.init();
    };
    const old = await started();
    await expect(started()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await old.close();
    await (await started()).close();
  });
});

describe('failures around the generator', () => {
  /** No server listens there, so a connection would fail at once. */
  const NOWHERE = 'redis://127.0.0.1:1';

  const moduleOf = (options: SnowflakeModuleOptions) =>
    Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
    });

  afterEach(() => {
    jest.restoreAllMocks();
    Logger.overrideLogger(false);
  });

  const failing = () => {
    throw new Error('planted');
  };

  describe('a logger that throws', () => {
    it('changes nothing, and its lines become warnings of Node', async () => {
      const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      const support = new MemorySupport({ rows: new MemoryRows() });
      const app = await moduleOf({ support }).compile();
      Logger.overrideLogger({ log: failing, warn: failing, error: failing });
      await app.init();
      const [ids, job] = [app.get(IdMaker), app.get(RefreshAlive)];
      expect([ids.status.state, typeof ids.nextId()]).toEqual(['active', 'bigint']);
      // One line at each level: a lost lease, a failed request, a granted lease.
      jest.spyOn(support, 'refreshAlive').mockResolvedValueOnce({ status: 'cloned' });
      const refusal = new SnowflakeError('STORE_UNAVAILABLE', 'planted', { retryable: false });
      jest.spyOn(support, 'getNextWorkId').mockRejectedValueOnce(refusal);
      await job.run();
      await job.run();
      expect([ids.status.state, typeof (await ids.nextIdAsync())]).toEqual(['active', 'bigint']);
      await app.close();
      expect(ids.status.state).toBe('released');
      const lines = warned.mock.calls.map(([line]) => String(line));
      const said = ['unassigned -> active', 'No worker id could be leased', '-> released'];
      for (const text of said) expect(lines).toContainEqual(expect.stringContaining(text));
    });
  });

  describe('a line in the log', () => {
    it('is a single line without control characters, whatever the support returns', async () => {
      const text = 'a\nforged line \u001b[2J \u009b31m \u202e reversed';
      const advice = async () => [text];
      const app = await moduleOf({
        support: Object.assign(new StaticSupport(902), { advice }),
      }).compile();
      const warn = jest.fn();
      Logger.overrideLogger({ log: () => undefined, warn, error: () => undefined });
      await app.init();
      await turn();
      expect(warn.mock.calls.map(([line]) => line)).toEqual(['a?forged line ?[2J ?31m ? reversed']);
      await app.close();
    });
  });

  describe('advice of a support', () => {
    it.each([
      ['throws', failing],
      ['rejects', async () => failing()],
      ['returns no promise', () => ['a sentence']],
      ['returns undefined', () => undefined],
      ['resolves to no list', async () => 'a sentence'],
    ])('that %s has no effect', async (_, advice) => {
      const support = Object.assign(new StaticSupport(900), { advice: advice as never });
      const app = await moduleOf({ support }).compile();
      await app.init();
      await turn();
      expect(app.get(IdMaker).status.state).toBe('active');
      await app.close();
    });
  });

  describe('a release that outlasts the shutdown', () => {
    it('ends later, and the support is then closed again', async () => {
      const time = new SettableTime();
      const support = new MemorySupport({ rows: new MemoryRows(time) });
      let resolve: () => void = () => undefined;
      const promise = new Promise<void>((end) => (resolve = end));
      let closedCount = 0;
      const close = async () => void closedCount++;
      Object.assign(support, { release: () => promise, close });
      const app = await moduleOf({ support, clock: time, timers: time }).compile();
      await settle(time, app.init());
      await settle(time, app.close());
      expect(closedCount).toBe(1);
      resolve();
      await turn();
      expect(closedCount).toBe(2);
    });
  });

  describe('a support whose close() fails', () => {
    it.each([
      ['throws', failing],
      ['rejects', async () => failing()],
    ])('and %s does not keep the application from closing', async (_, close) => {
      const support = Object.assign(new StaticSupport(901), { close });
      const app = await moduleOf({ support }).compile();
      await app.init();
      // Called directly: Nest 12 logs an error of a hook, Nest 11 ends the process.
      await app.get<OnApplicationShutdown>(SNOWFLAKE_LIFECYCLE).onApplicationShutdown();
      expect(app.get(IdMaker).status.state).toBe('released');
      await app.close();
    });
  });

  describe('while Node builds a startup snapshot', () => {
    it.each([true, false])('the generator requests no lease, lazy: %s', async (lazy) => {
      const support = new MemorySupport({ rows: new MemoryRows() });
      const ask = jest.spyOn(support, 'getNextWorkId');
      const app = await moduleOf({ support, lazy }).compile();
      jest.spyOn(v8.startupSnapshot, 'isBuildingSnapshot').mockReturnValue(true);
      await expect(app.init()).rejects.toMatchObject({ code: 'NOT_READY', retryable: false });
      await app.get(RefreshAlive).run();
      expect(ask).not.toHaveBeenCalled();
      await app.close();
    });
  });

  describe('an IdMaker that a test replaces', () => {
    it('contacts no store, and gives entities their IDs', async () => {
      const getNextWorkId = jest.fn(failing);
      const close = jest.fn(async () => undefined);
      const support: IDistributedSupport = { getNextWorkId, refreshAlive: failing, close };
      const app = await moduleOf({ support })
        .overrideProvider(IdMaker)
        .useValue(fakeIdMaker())
        .compile();
      await app.init();
      expect(app.get(IdMaker).nextIdString()).toBe('1');
      expect(currentIdMaker().nextIdString()).toBe('2');
      expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
      await app.close();
      expect([getNextWorkId.mock.calls.length, close.mock.calls.length]).toEqual([0, 1]);
      expect(() => currentIdMaker()).toThrow(/No generator is running/);
    });

    it('works with the URL of an unreachable Redis', async () => {
      const app = await moduleOf({ support: NOWHERE })
        .overrideProvider(IdMaker)
        .useValue(fakeIdMaker({ from: 7n }))
        .compile();
      await app.init();
      expect(app.get(IdMaker).nextIds(2)).toEqual([7n, 8n]);
      await app.close();
    });
  });
});
