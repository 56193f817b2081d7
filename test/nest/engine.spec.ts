/** How a running generator reacts to its lease, and how its renewals are spread over time. */
import { describe, expect, it, jest } from '@jest/globals';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  BitLayout,
  IdMaker,
  MemoryRows,
  MemorySupport,
  type RunningSnowflake,
  SnowflakeModule,
  startSnowflake,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { RefreshAlive } from '../../lib/nest/refresh-alive.job.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a generator', () => {
  it('does not run ahead of the clock if a restart loses the ranges', async () => {
    const time = new SettableTime();
    const start = (isVolatile: boolean) => {
      const support = new MemorySupport({ clock: time });
      Object.defineProperty(support, 'isVolatile', { value: isVolatile });
      return startSnowflake({ support, clock: time, timers: time });
    };
    const [kept, forgotten] = [await start(false), await start(true)];
    expect(kept.ids.nextIds(10_000)).toHaveLength(10_000);
    expect(() => forgotten.ids.nextIds(10_000)).toThrow('do not run ahead of the clock');
    await kept.close();
    await forgotten.close();
  });

  it('serves waiting callers when the lease is granted, without any timer', async () => {
    const time = new SettableTime();
    const support = new MemorySupport({ clock: time });
    const lease = support.getNextWorkId.bind(support);
    let grant = () => undefined as void;
    const isGranted = new Promise<void>((resolve) => (grant = resolve));
    jest.spyOn(support, 'getNextWorkId').mockImplementation(async (request) => {
      await isGranted;
      return lease(request);
    });
    const running = await startSnowflake({ support, clock: time, timers: time, lazy: true });
    let made: bigint | undefined;
    const waiting = running.ids.nextIdAsync().then((id) => (made = id));
    await turn();
    expect(made).toBeUndefined();
    grant();
    for (let n = 0; n < 20 && made === undefined; n++) await turn();
    expect(made).toBeGreaterThan(0n);
    await waiting;
    await running.close();
  });
});

it('processes that start together renew at different times', () => {
  const { refreshAliveIntervalMs } = LEASE_DEFAULTS;
  const asked: number[] = [];
  const timers = { every: (ms: number) => void asked.push(ms) };
  const keeper = { renewsItself: true, endMs: undefined, refresh: async () => undefined };
  const config = { lease: LEASE_DEFAULTS, timers } as never;
  for (let n = 0; n < 50; n++) new RefreshAlive(undefined, keeper, config).start();
  expect(new Set(asked).size).toBeGreaterThan(40);
  expect(Math.min(...asked)).toBeGreaterThanOrEqual(0.8 * refreshAliveIntervalMs);
  expect(Math.max(...asked)).toBeLessThanOrEqual(1.2 * refreshAliveIntervalMs);
});

describe('a worker id without end', () => {
  it.each([false, true])('leaves no job for fake timers that run all (lazy: %p)', async (lazy) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    // As where fake timers are installed before the package is loaded.
    const timers = {
      // The fake one, which nothing waits for.
      after: (ms: number, run: () => void) => setTimeout(run, ms),
      every: (ms: number, run: () => void) => setInterval(run, ms),
      cancel: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
    };
    const imports = [
      ScheduleModule.forRoot(),
      SnowflakeModule.forRoot({ support: 'static:7', lazy, timers }),
    ];
    const app = await Test.createTestingModule({ imports }).compile();
    try {
      await app.init();
      expect(app.get(SchedulerRegistry).getIntervals()).toHaveLength(lazy ? 1 : 0);
      jest.runAllTimers();
      expect(jest.getTimerCount()).toBe(0);
      expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
      expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
    } finally {
      jest.useRealTimers();
      await app.close();
    }
  });
});

describe('a process that is frozen for longer than its lease, as on Lambda', () => {
  it('repeats no id of its own or of others, and has a fresh lease', async () => {
    const [outside, inside] = [new SettableTime(), new SettableTime()];
    const rows = new MemoryRows(outside);
    const fields = { timestamp: 41, worker: 1, sequence: 12 };
    const layout = new BitLayout({ fields: Object.entries(fields) as [string, number][] });
    const started = (time: SettableTime) => {
      const support = new MemorySupport({ rows });
      return startSnowflake({ layout, support, clock: time, timers: time });
    };
    await using frozen = await started(inside);
    const made = frozen.ids.nextIds(100);
    await outside.advance(10 * LEASE_DEFAULTS.ttlMs);
    // Both numbers go to others meanwhile, and one comes back.
    const others = [await started(outside), await started(outside)];
    for (const { ids } of others) made.push(...ids.nextIds(100));
    const isSame = ({ ids }: RunningSnowflake) => ids.status.workerId === workerId;
    const { workerId } = frozen.ids.status;
    const [same, other] = others.toSorted((a) => (isSame(a) ? -1 : 1));
    expect([same, other].map((each) => isSame(each!))).toEqual([true, false]);
    await other!.close();
    // The clock is there at once, and no timer has fired.
    inside.wallMs = outside.wallMs;
    const thawedMs = inside.wallMs;
    const first = frozen.ids.nextIdAsync();
    for (let n = 0; n < 50; n++) await Promise.all([inside.advance(100), outside.advance(100)]);
    const next = frozen.ids.nextId();
    expect(layout.timestampMsOf(next)).toBeGreaterThan(thawedMs);
    made.push(await first, next, ...frozen.ids.nextIds(100), ...same!.ids.nextIds(100));
    expect(new Set(made).size).toBe(made.length);
    const { state, leaseEndsAt } = frozen.ids.status;
    expect(state).toBe('active');
    expect(leaseEndsAt!.getTime()).toBeGreaterThan(inside.wallMs + LEASE_DEFAULTS.ttlMs / 2);
    await same!.close();
  });
});
