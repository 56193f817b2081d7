/**
 * What an application may do to the generator: log with a logger that throws, give a support whose
 * advice fails, start while a snapshot is built, replace the IdMaker. None of it costs the lease.
 */
import v8 from 'node:v8';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  MemoryRegistry,
  MemorySupport,
  RefreshAlive,
  SnowflakeError,
  SnowflakeModule,
  StaticSupport,
  type IDistributedSupport,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { fakeIdMaker } from 'nestjs-snowflake/testing';
import { turn } from '../../lib/time/timers.js';
import { currentIdMaker } from '../../lib/nest/id-maker.js';
import { SNOWFLAKE_LIFECYCLE } from '../../lib/nest/tokens.js';

/** Nothing listens there: a connection would fail at once. */
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
  it('changes nothing, and its lines go to the warnings of Node', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const support = new MemorySupport({ registry: new MemoryRegistry() });
    const app = await moduleOf({ support }).compile();
    Logger.overrideLogger({ log: failing, warn: failing, error: failing });
    await app.init();
    const [ids, job] = [app.get(IdMaker), app.get(RefreshAlive)];
    expect([ids.status.state, typeof ids.nextId()]).toEqual(['active', 'bigint']);
    // A line at each level: the lease is dropped, no other is had, then one is.
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
  it('is one line and steers no terminal, whatever the support says', async () => {
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
    ['is rejected', async () => failing()],
    ['is no promise', () => ['a sentence']],
    ['is nothing', () => undefined],
    ['is no list', async () => 'a sentence'],
  ])('that %s disturbs nobody', async (_, advice) => {
    const support = Object.assign(new StaticSupport(900), { advice: advice as never });
    const app = await moduleOf({ support }).compile();
    await app.init();
    await turn();
    expect(app.get(IdMaker).status.state).toBe('active');
    await app.close();
  });
});

describe('a support that cannot be closed', () => {
  it.each([
    ['throws', failing],
    ['is rejected', async () => failing()],
  ])('and %s does not keep the application from closing', async (_, close) => {
    const support = Object.assign(new StaticSupport(901), { close });
    const app = await moduleOf({ support }).compile();
    await app.init();
    // Asked directly: Nest 12 logs what a hook throws, Nest 11 ends the process for it.
    await app.get<OnApplicationShutdown>(SNOWFLAKE_LIFECYCLE).onApplicationShutdown();
    expect(app.get(IdMaker).status.state).toBe('released');
    await app.close();
  });
});

describe('while a startup snapshot is built', () => {
  it.each([true, false])('no lease is taken, lazy: %s', async (lazy) => {
    const registry = new MemoryRegistry();
    const app = await moduleOf({ support: new MemorySupport({ registry }), lazy }).compile();
    jest.spyOn(v8.startupSnapshot, 'isBuildingSnapshot').mockReturnValue(true);
    await expect(app.init()).rejects.toMatchObject({ code: 'NOT_READY', retryable: false });
    await app.get(RefreshAlive).run();
    expect(registry.state?.operations).toBe(0);
    await app.close();
  });
});

describe('an IdMaker that a test replaces', () => {
  it('is enough: no store is contacted, and entities get its ids', async () => {
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

  it('works with the URL of a Redis that is not there', async () => {
    const app = await moduleOf({ support: NOWHERE })
      .overrideProvider(IdMaker)
      .useValue(fakeIdMaker({ from: 7n }))
      .compile();
    await app.init();
    expect(app.get(IdMaker).nextIds(2)).toEqual([7n, 8n]);
    await app.close();
  });
});
