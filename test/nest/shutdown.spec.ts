/**
 * The generator's place in an application: ready before its first hook, there until after its
 * last, in any order of imports.
 */
import { describe, expect, it } from '@jest/globals';
import {
  ConsoleLogger,
  Global,
  Injectable,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, MemoryRegistry, MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { startFirstEndLast } from '../../lib/nest/lifecycle.js';
import { SNOWFLAKE_LIFECYCLE } from '../../lib/nest/tokens.js';

/** What a slow consumer of messages takes to finish what it has begun. */
const DRAIN_MS = 600_000;

/** Time that the test moves, with intervals that Nest's scheduler can end as it ends real ones. */
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
  readonly registry: MemoryRegistry;
  readonly snowflake: DynamicModule;
}

function world(): World {
  const [time, registry] = [new SchedulerTime(), new MemoryRegistry()];
  const support = new MemorySupport({ registry, clock: time });
  const options = { support, clock: time, timers: time };
  return { time, registry, snowflake: SnowflakeModule.forRoot(options) };
}

/** A start may wait for the clock, which stands still unless the test moves it. */
async function settle(time: SettableTime, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = () => (isOver = true);
  work.then(over, over);
  while (!isOver) await time.advance(100);
}

/** A global module of the application, listed before everything of ours. */
function draining({ time, registry }: World) {
  const seen = { ids: [] as string[], heldCount: -1, isRenewed: false };
  @Injectable()
  class Consumer implements OnModuleInit, OnApplicationShutdown {
    constructor(private readonly ids: IdMaker) {}

    onModuleInit(): void {
      seen.ids.push(this.ids.nextIdString());
    }

    async onApplicationShutdown(): Promise<void> {
      await time.advance(DRAIN_MS);
      seen.heldCount = registry.state?.holders.size ?? 0;
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
  it.each(['first', 'last'])('has ids in its first and last hook, listed %s', async (location) => {
    const around = world();
    const { seen, Consumers } = draining(around);
    const ours = [around.snowflake, ScheduleModule.forRoot()];
    const imports = location === 'first' ? [Consumers, ...ours] : [...ours, Consumers];
    const app = await Test.createTestingModule({ imports }).compile();
    await settle(around.time, app.init());
    await app.close();
    // Ten leases long nobody made an id: only renewals kept the range ahead of the clock.
    const ids = [expect.any(String), expect.any(String)];
    expect(seen).toEqual({ ids, heldCount: 1, isRenewed: true });
    expect(around.registry.state!.holders.size).toBe(0);
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    const { operations } = around.registry.state!;
    await around.time.advance(DRAIN_MS);
    expect(around.registry.state!.operations).toBe(operations);
  });
});

describe('where Nest keeps no distance of modules, or lets nobody set it', () => {
  const moduleWith = (more: object) => ({
    providers: new Map([[SNOWFLAKE_LIFECYCLE, {}]]),
    ...more,
  });

  it.each([
    ['no distance', moduleWith({})],
    ['a distance that can only be read', Object.freeze(moduleWith({ distance: 1 }))],
    ['no providers', {}],
  ])('nothing is touched: %s', (_, module) => {
    const before = { ...module };
    const modules = new Map([['ours', module]]) as unknown as ModulesContainer;
    expect(() => startFirstEndLast(modules, SNOWFLAKE_LIFECYCLE)).not.toThrow();
    expect({ ...module }).toEqual(before);
    expect(() => startFirstEndLast(undefined, SNOWFLAKE_LIFECYCLE)).not.toThrow();
  });

  it('the order of imports decides, and ids made too late are refused, never doubled', async () => {
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
    expect(around.registry.state?.holders.size ?? 0).toBe(0);
  });
});
