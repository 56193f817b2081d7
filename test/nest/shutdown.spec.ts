/**
 * The generator's place in an application: ready before its first hook, there until after its
 * last, in any order of imports.
 */
import { describe, expect, it } from '@jest/globals';
import {
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
import { startFirstEndLast } from '../../lib/nest/module-order.js';
import { SNOWFLAKE_LIFECYCLE } from '../../lib/nest/tokens.js';

/** What a slow consumer of messages takes to finish what it has begun. */
const DRAIN_MS = 600_000;

interface World {
  readonly time: SettableTime;
  readonly registry: MemoryRegistry;
  readonly snowflake: DynamicModule;
}

function world(): World {
  const [time, registry] = [new SettableTime(), new MemoryRegistry()];
  const support = new MemorySupport({ registry, clock: time });
  const options = { support, clock: time, timers: time };
  return { time, registry, snowflake: SnowflakeModule.forRoot(options) };
}

/** A global module of the application, listed before everything of ours. */
function draining({ time, registry }: World) {
  const seen = { ids: [] as string[], heldCount: -1 };
  @Injectable()
  class Consumer implements OnModuleInit, OnApplicationShutdown {
    constructor(private readonly ids: IdMaker) {}

    onModuleInit(): void {
      seen.ids.push(this.ids.nextIdString());
    }

    async onApplicationShutdown(): Promise<void> {
      await time.advance(DRAIN_MS);
      seen.heldCount = registry.state!.owners.size;
      seen.ids.push(this.ids.nextIdString());
    }
  }
  @Global()
  @Module({ providers: [Consumer] })
  class Consumers {}
  return { seen, Consumers };
}

describe('a global module of the application, whatever the order of imports', () => {
  it.each(['first', 'last'])('has ids in its first and last hook, listed %s', async (place) => {
    const around = world();
    const { seen, Consumers } = draining(around);
    const ours = [around.snowflake, ScheduleModule.forRoot()];
    const imports = place === 'first' ? [Consumers, ...ours] : [...ours, Consumers];
    const app = await Test.createTestingModule({ imports }).compile();
    await app.init();
    await app.close();
    // Ten leases long nobody made an id: only renewals kept the range ahead of the clock.
    expect(seen).toEqual({ ids: [expect.any(String), expect.any(String)], heldCount: 1 });
    expect(around.registry.state!.owners.size).toBe(0);
    expect([around.time.timerCount, app.get(SchedulerRegistry).getIntervals()]).toEqual([0, []]);
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
    expect(() => startFirstEndLast(modules)).not.toThrow();
    expect({ ...module }).toEqual(before);
    expect(() => startFirstEndLast(undefined)).not.toThrow();
  });

  it('the order of imports decides, and ids made too late are refused, never doubled', async () => {
    const around = world();
    const { seen, Consumers } = draining(around);
    const imports = [ScheduleModule.forRoot(), Consumers, around.snowflake];
    const app = await Test.createTestingModule({ imports })
      .overrideProvider(ModulesContainer)
      .useValue(new Map())
      .setLogger(false as never)
      .compile();
    await expect(app.init()).rejects.toMatchObject({ code: 'NOT_READY' });
    await app.close();
    expect(seen.ids).toEqual([]);
    expect(around.registry.state?.owners.size ?? 0).toBe(0);
  });
});
