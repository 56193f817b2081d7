/**
 * Worker IDs without an end, from any support: one generator at a time, and the next one's IDs come
 * after it.
 */
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  BitLayout,
  type IDistributedSupport,
  IdMaker,
  layouts,
  MemoryRows,
  MemorySupport,
  SnowflakeModule,
  type SnowflakeModuleOptions,
  StaticSupport,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { SnowflakeGenerator } from '../../lib/core/generator/snowflake-generator.js';
import { joinWindow, shareWindow } from '../../lib/core/window/shared-lease.js';
import { WindowWords } from '../../lib/core/window/window-memory.js';
import type { LeaseOptions } from '../../lib/lease/lease-options.js';
import { SharedLeaseKeeper } from '../../lib/lease/shared.support.js';
import { ClaimSupport } from '../../lib/lease/static.support.js';
import { processWide } from '../../lib/process-wide.js';
import { codeOf, runs } from '../until.js';
import { process, World } from './world.js';

/** As docs/guides/writing-a-support.md shows it, with a service that returns `workerId`. */
function numberService(workerId: number): IDistributedSupport {
  const grant = { status: 'ok', workerId, floorMs: -Infinity, ceilingMs: Infinity } as const;
  return { getNextWorkId: async () => grant, refreshAlive: async () => grant };
}

const SILENT = { log() {}, warn() {}, error() {} };

/** There is no record of the IDs of an earlier process. */
function forgetTheProcess(): void {
  processWide('endless-worker-ids', () => new Map()).clear();
}

/** The clock moves until the application has started. */
async function startWhileTimePasses(time: SettableTime, options: SnowflakeModuleOptions) {
  let isOver = false;
  const starting = start(options).finally(() => (isOver = true));
  starting.catch(() => undefined);
  while (!isOver) await time.advance(10);
  return starting;
}

async function start(options: SnowflakeModuleOptions, onModuleDestroy?: () => Promise<void>) {
  const imports = [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)];
  const providers = [{ provide: 'slow', useValue: { onModuleDestroy } }];
  const module = Test.createTestingModule({ imports, providers });
  const app = await module.setLogger(SILENT).compile();
  await app.init();
  return { app, ids: app.get(IdMaker) };
}

describe.each([
  ['a support of the application', numberService],
  ['a StaticSupport', (workerId: number) => new StaticSupport(workerId)],
])('an endless worker ID from %s', (_name, supportOf) => {
  it.each([
    ['the default', {}],
    ['a configured run-ahead', { aheadMsMax: 1000 }],
    ['ticks of a second', { layout: layouts.baidu() }],
  ])('repeats no ID after a restart, with %s', async (_case, given) => {
    const time = new SettableTime();
    const options = { ...given, support: supportOf(77), clock: time, timers: time };
    const made: bigint[] = [];
    // The clock stays still, as if an application restarts immediately.
    for (let n = 0; n < 3; n++) {
      const { app, ids } =
        n === 0 ? await startWhileTimePasses(time, options) : await start(options);
      for (let at = 0; at < 1000; at++) made.push(await ids.nextIdAsync());
      await app.close();
    }
    expect(new Set(made).size).toBe(3000);
  });

  it.each([
    ['ticks of a second', { layout: layouts.baidu() }, 5000, 1000],
    ['a configured run-ahead', { aheadMsMax: 50 }, 100_000, 50],
    ['both', { layout: layouts.baidu(), aheadMsMax: 3000 }, 20_000, 4000],
  ])('repeats no ID in the next process, with %s', async (_case, given, count, waitMsMax) => {
    const time = new SettableTime(1_767_225_600_300);
    const options = { ...given, support: supportOf(76), clock: time, timers: time };
    const made: bigint[] = [];
    for (let n = 0; n < 5; n++) {
      forgetTheProcess();
      const startedMs = time.now();
      const { app, ids } = await startWhileTimePasses(time, options);
      expect(time.now() - startedMs).toBeLessThanOrEqual(waitMsMax + 10);
      made.push(...ids.nextIds(runs(count)));
      await app.close();
    }
    expect(new Set(made).size).toBe(made.length);
  });

  it('starts at once if a tick is shorter than any restart', async () => {
    forgetTheProcess();
    const time = new SettableTime();
    const sonyflake = { layout: layouts.sonyflake(), clock: time, timers: time };
    for (const options of [{ clock: time, timers: time }, sonyflake]) {
      const { app, ids } = await start({ ...options, support: supportOf(75) });
      expect(ids.status.state).toBe('active');
      await app.close();
    }
  });

  it('does not start if a tick is longer than a start may take', async () => {
    forgetTheProcess();
    const fields = [
      ['timestamp', 30],
      ['worker', 10],
      ['sequence', 20],
    ] as const;
    const layout = new BitLayout({ fields, unitMs: 3_600_000 });
    const time = new SettableTime(1_767_225_600_300);
    const options = { layout, support: supportOf(74), clock: time, timers: time };
    await expect(startWhileTimePasses(time, options)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/must wait \d+ ms until the clock has passed them/) as unknown,
    });
    // A failed start leaves no claim behind.
    await expect(startWhileTimePasses(time, options)).rejects.not.toThrow(/already serves/);
  });

  it('serves one generator at a time', async () => {
    const { app, ids } = await start({ support: supportOf(78) });
    const other = { support: supportOf(78), startTimeoutMs: 0 };
    await expect(start(other)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      retryable: false,
      message: expect.stringMatching(/already serves another generator/) as unknown,
    });
    expect(ids.status.state).toBe('active');
    await app.close();
    const again = await start({ support: supportOf(78) });
    await again.app.close();
  });

  it('is not released by the generator that was refused', async () => {
    const { app } = await start({ support: supportOf(79) });
    for (let n = 0; n < 2; n++) {
      const other = { support: supportOf(79), startTimeoutMs: 0 };
      await expect(start(other)).rejects.toThrow(/already serves another/);
    }
    await app.close();
  });

  it('waits for the one that is closing, as in a hot reload', async () => {
    let end = () => undefined as void;
    const drained = new Promise<void>((resolve) => (end = resolve));
    const before = await start({ support: supportOf(72) }, () => drained);
    const ids = [before.ids.nextId()];
    const closing = before.app.close();
    const time = new SettableTime(Date.now());
    const starting = startWhileTimePasses(time, { support: supportOf(72), timers: time });
    await time.advance(2000);
    ids.push(before.ids.nextId());
    end();
    const { app, ids: after } = await starting;
    ids.push(after.nextId());
    expect(ids).toEqual([...new Set(ids)].sort((one, other) => (one < other ? -1 : 1)));
    await closing;
    await app.close();
  });

  it('does not wait for one that continues', async () => {
    const { app } = await start({ support: supportOf(73) });
    const time = new SettableTime(Date.now());
    const starting = startWhileTimePasses(time, { support: supportOf(73), timers: time });
    await expect(starting).rejects.toThrow(/within 3000 ms\. Worker id 73 already serves another/);
    await app.close();
  });
});

describe('a claimed worker ID', () => {
  it('follows the facts of its registry, which may change after the start', () => {
    const before = { namespace: 'a', statement: 'x', lossWindowMs: 0, isVolatile: true };
    const after = { namespace: 'b', statement: 'y', lossWindowMs: 9, isVolatile: false };
    const calls = { getNextWorkId: jest.fn(), refreshAlive: jest.fn() };
    const registry = { ...calls, ...before } as unknown as IDistributedSupport;
    const claim = new ClaimSupport(7, registry);
    expect(claim).toMatchObject(before);
    Object.assign(registry, after);
    expect(claim).toMatchObject(after);
  });
});

describe('a registry in memory, lost at a restart', () => {
  it.each([
    ['the default', {}],
    ['ticks of a second', { layout: layouts.baidu() }],
    ['a configured run-ahead', { aheadMsMax: 50 }],
  ])('repeats no ID in the next process, with %s', async (_case, given) => {
    const time = new SettableTime(Date.now());
    const made: bigint[] = [];
    for (let n = 0; n < 3; n++) {
      const support = new MemorySupport({ rows: new MemoryRows() });
      const options = { ...given, support, clock: time, timers: time };
      const { app, ids } = await startWhileTimePasses(time, options);
      takeAll(ids, made);
      await app.close();
      // Two starts of a process never share a millisecond.
      time.wallMs += 1;
    }
    expect(made.length).toBeGreaterThan(3 * 4000);
    expect(new Set(made).size).toBe(made.length);
  });

  const takeAll = (ids: IdMaker, made: bigint[]): void => {
    try {
      for (let count = 0; count < runs(300_000); count++) made.push(ids.nextId());
    } catch (error) {
      expect(error).toMatchObject({ retryable: true });
    }
  };
});

describe('two copies of the package in one process', () => {
  /** With its own Nest, like the copies that a process loads. */
  const copy = async () => {
    jest.resetModules();
    const { Test: NestTest } = await import('@nestjs/testing');
    const { ScheduleModule: Schedule } = await import('@nestjs/schedule');
    const library = await import('nestjs-snowflake');
    const core = await import('nestjs-snowflake/core');
    const open = async (options: SnowflakeModuleOptions) => {
      const imports = [Schedule.forRoot(), library.SnowflakeModule.forRoot(options)];
      const module = NestTest.createTestingModule({ imports }).setLogger(SILENT);
      const app = await module.compile();
      await app.init();
      return { app, ids: app.get(library.IdMaker) };
    };
    return { library, core, open };
  };
  let one: Awaited<ReturnType<typeof copy>>;
  let other: typeof one;
  beforeAll(async () => {
    one = await copy();
    other = await copy();
  });

  it('share the worker IDs in use and their ends', async () => {
    expect(one.library.IdMaker).not.toBe(other.library.IdMaker);
    const time = new SettableTime();
    const options = { workerId: 80, clock: time, timers: time, startTimeoutMs: 0 };
    const first = await one.open(options);
    await expect(other.open(options)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const last = first.ids.nextId();
    await first.app.close();
    const second = await other.open(options);
    time.wallMs += 1;
    expect(second.ids.nextId()).toBeGreaterThan(last);
    await second.app.close();
  });

  it('issue unique IDs from one shared lease, none after its end', async () => {
    expect(one.core.joinSharedLease).not.toBe(other.core.joinSharedLease);
    const owner = await one.open({ workerId: 81, sharesLease: true });
    const { sharedLease } = owner.ids;
    // As a thread receives it in a message.
    const joined = await other.open({ support: structuredClone(sharedLease) });
    const plain = other.core.joinSharedLease(sharedLease);
    expect(joined.ids.status.workerId).toBe(81);
    const made: bigint[] = [];
    for (let round = 0; round < 2000; round++) {
      for (const ids of [owner.ids, joined.ids, plain]) made.push(ids.nextId());
    }
    expect(new Set(made).size).toBe(made.length);
    expect(new Set(made.map((id) => owner.ids.parse(id).workerId))).toEqual(new Set([81]));
    await joined.app.close();
    // The end of one does not affect the other.
    expect(codeOf(() => joined.ids.nextId())).toBe('NOT_READY');
    expect(made).not.toContain(plain.nextId());
    await owner.app.close();
    expect(codeOf(() => plain.nextId())).toBe('NOT_READY');
  });

  it('find the running generator, whichever copy started it', async () => {
    const { addIdMaker, removeIdMaker } = await import('../../lib/nest/id-maker.js');
    const maker = {} as IdMaker;
    addIdMaker('other copy', maker);
    jest.resetModules();
    const { currentIdMaker } = await import('../../lib/nest/id-maker.js');
    expect(currentIdMaker('other copy')).toBe(maker);
    removeIdMaker(maker);
  });
});

/*
 * A lease that threads share, as seen by its keeper and those threads.
 */
/** A process of two more threads in a world. */
function sharing(given: Partial<LeaseOptions> = {}, storeAheadMs = 0) {
  const world = new World({ storeAheadMs });
  const owner = process(world, given, 0, WindowWords.shared());
  const shared = shareWindow(owner.window, { aheadMsMax: 1000, sequenceStart: 'zero' })!;
  const news: string[] = [];
  const thread = () => {
    const window = joinWindow(shared);
    const clock = window.anchored(world.time);
    const lease = new SharedLeaseKeeper({
      window,
      idClock: clock,
      timers: world.time,
      options: { startTimeoutMs: 10_000 },
      onNews: (text) => void news.push(text),
    });
    return { window, lease, generator: new SnowflakeGenerator(window, { clock }) };
  };
  return { world, owner, news, threads: [thread(), thread()] as const };
}

describe('a thread that shares a lease', () => {
  it('starts once a lease exists, and reports if none arrives', async () => {
    const { world, owner, news, threads } = sharing();
    const [one, other] = threads;
    const failing = one.lease.start().catch((error: unknown) => error);
    await world.time.advance(5000);
    expect(news).toEqual([expect.stringContaining('no worker id within 5000 ms')]);
    await world.time.advance(5000);
    expect(await failing).toMatchObject({ code: 'NOT_READY' });
    const starting = other.lease.start();
    await owner.keeper.start();
    await world.time.advance(20);
    await starting;
    expect(other.lease.workerId).toBe(owner.keeper.workerId);
    expect(other.lease.endMs).toBe(owner.keeper.endMs);
    await owner.keeper.stop();
  });

  it("shows the lease's state, and follows the same clock as its keeper", async () => {
    const { world, owner, threads } = sharing({}, 3_600_000);
    await owner.keeper.start();
    const [{ lease, generator }] = threads;
    expect(lease).toMatchObject({ state: 'active', clockSkewMs: 3_600_000 });
    const { timestampMs } = generator.layout.parse(generator.nextId());
    expect(timestampMs).toBe(world.time.now() + 3_600_000);
    world.isDown = true;
    await owner.keeper.refresh();
    expect(lease.state).toBe('degraded');
    await owner.keeper.stop();
  });

  it('repeats no ID when a lease resumes after a clock that was far off', async () => {
    const { world, owner, threads } = sharing({ onClockSkew: 'reject' });
    await owner.keeper.start();
    const [one, other] = threads;
    // Half a second ahead of the clock, in a tick that the other thread has not used.
    const ids = one.generator.nextIds(2_000_000);
    world.time.wallMs += 10_000;
    world.storeAheadMs = -10_000;
    await owner.keeper.refresh();
    expect(codeOf(() => other.generator.nextId())).toBe('NOT_READY');
    world.time.wallMs -= 10_000;
    world.storeAheadMs = 0;
    await owner.keeper.refresh();
    const more = other.generator.nextIds(5000);
    expect(more[0]! > ids.at(-1)!).toBe(true);
    await owner.keeper.stop();
    // Released after the last ID, although another thread generated it.
    const lastMs = one.window.layout.parse(more.at(-1)!).timestampMs;
    expect(world.released).toEqual([lastMs]);
  });

  it('ends alone, or with its keeper', async () => {
    const { owner, threads } = sharing();
    await owner.keeper.start();
    const [one, other] = threads;
    await one.lease.stop();
    expect(one.lease).toMatchObject({ state: 'released', workerId: undefined });
    expect(() => one.generator.nextId()).toThrow(/given back at shutdown/);
    expect(other.generator.nextId()).toBeGreaterThan(0n);
    await owner.keeper.stop();
    expect(() => other.generator.nextId()).toThrow(/given back/);
    expect(other.lease.state).toBe('released');
  });

  it('reports the end when the thread that held the lease ended without a message', async () => {
    const { world, owner, threads } = sharing();
    await owner.keeper.start();
    const [{ lease }] = threads;
    world.time.wallMs += 120_000;
    expect(lease.state).toBe('exhausted');
    await owner.keeper.stop();
    await expect(threads[1].lease.start()).rejects.toMatchObject({ retryable: false });
  });
});
