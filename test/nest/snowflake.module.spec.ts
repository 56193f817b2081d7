/**
 * The module in real Nest applications: injection, lifecycle, several generators, both platforms.
 */
import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Cron, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IDistributedSupport,
  IdMaker,
  InjectIdMaker,
  MemoryRegistry,
  MemorySupport,
  SnowflakeModule,
  getDistributedSupportToken,
  getIdMakerToken,
  layouts,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { until } from '../until.js';

const SILENT = { logger: false } as const;

function appOf(options: SnowflakeModuleOptions, ...imports: never[]) {
  return Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options), ...imports],
  }).compile();
}

@Injectable()
class OptionsFactory {
  createSnowflakeOptions(): SnowflakeModuleOptions {
    return { workerId: 5 };
  }
}

@Module({ providers: [OptionsFactory], exports: [OptionsFactory] })
class OptionsModule {}

describe('registration', () => {
  it.each([
    ['useFactory', { useFactory: async () => ({ workerId: 5 }) }],
    ['useClass', { useClass: OptionsFactory }],
    ['useExisting', { useExisting: OptionsFactory, imports: [OptionsModule] }],
    [
      'inject',
      {
        imports: [OptionsModule],
        inject: [OptionsFactory],
        useFactory: (factory: OptionsFactory) => factory.createSnowflakeOptions(),
      },
    ],
  ])('takes its options by %s', async (_, options) => {
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRootAsync(options)],
    }).compile();
    await app.init();
    const ids = app.get(IdMaker);
    expect(ids.parse(ids.nextId()).workerId).toBe(5);
    await app.close();
  });

  it('is global by default, and only where imported when told so', async () => {
    @Injectable()
    class Orders {
      constructor(readonly ids: IdMaker) {}
    }
    @Module({ providers: [Orders] })
    class Shop {}
    const build = (isGlobal: boolean | undefined) =>
      Test.createTestingModule({
        imports: [
          ScheduleModule.forRoot(),
          SnowflakeModule.forRoot({ workerId: 5, isGlobal }),
          Shop,
        ],
      }).compile();
    for (const isGlobal of [true, undefined]) {
      const { ids } = (await build(isGlobal)).get(Orders, { strict: false });
      expect(ids).toBeInstanceOf(IdMaker);
    }
    await expect(build(false)).rejects.toThrow(/dependencies of the Orders/);
  });

  it('keeps several named generators apart, each with its own lease', async () => {
    @Injectable()
    class Both {
      constructor(
        readonly plain: IdMaker,
        @InjectIdMaker('orders') readonly orders: IdMaker,
        @Inject(getDistributedSupportToken('orders')) readonly support: IDistributedSupport,
      ) {}
    }
    const support = new MemorySupport();
    const app = await Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        SnowflakeModule.forRoot({ support }),
        SnowflakeModule.forRoot({ name: 'orders', support }),
      ],
      providers: [Both],
    }).compile();
    await app.init();
    const { plain, orders } = app.get(Both);
    expect(orders).toBe(app.get(getIdMakerToken('orders')));
    expect(orders.status.workerId).not.toBe(plain.status.workerId);
    expect([...app.get(SchedulerRegistry).getIntervals()].toSorted()).toEqual([
      'snowflake:refresh-alive',
      'snowflake:refresh-alive:orders',
    ]);
    await app.close();
  });

  it('refuses one static worker id for two generators of a process', async () => {
    const app = await Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        SnowflakeModule.forRoot({ workerId: 9 }),
        SnowflakeModule.forRoot({ name: 'orders', support: 'static:9' }),
      ],
    }).compile();
    await expect(app.init()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await app.close();
  });

  it('touches no store when the support is overridden', async () => {
    const app = await Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        SnowflakeModule.forRoot({ support: 'redis://127.0.0.1:1' }),
      ],
    })
      .overrideProvider(IDistributedSupport)
      .useValue(new MemorySupport())
      .compile();
    await app.init();
    expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
    await app.close();
  });
});

describe('the lifecycle', () => {
  it('refuses ids before the start and after the shutdown', async () => {
    const app = await appOf({ workerId: 1 });
    const ids = app.get(IdMaker);
    const notReady = expect.objectContaining({ code: 'NOT_READY' });
    expect(() => ids.nextId()).toThrow(notReady);
    await app.init();
    expect(ids.nextIdString()).toMatch(/^\d+$/);
    await app.close();
    expect(() => ids.nextIdString()).toThrow(notReady);
    await expect(ids.nextIdAsync()).rejects.toEqual(notReady);
  });

  it.each([true, false])('has ids ready for other onModuleInit, global: %s', async (isGlobal) => {
    const made: string[] = [];
    const snowflake = SnowflakeModule.forRoot({ support: new MemorySupport(), isGlobal });
    @Injectable()
    class Seeds implements OnModuleInit {
      constructor(private readonly ids: IdMaker) {}
      onModuleInit() {
        made.push(this.ids.nextIdString());
      }
    }
    @Module({ imports: isGlobal ? [] : [snowflake], providers: [Seeds] })
    class Shop {}
    const app = await Test.createTestingModule({
      imports: [Shop, ScheduleModule.forRoot(), snowflake],
    }).compile();
    await app.init();
    expect(made).toHaveLength(1);
    await app.close();
  });

  it('makes ids while other modules shut down, then gives the worker id back', async () => {
    const made: string[] = [];
    const registry = new MemoryRegistry();
    @Injectable()
    class Orders implements OnModuleDestroy {
      constructor(private readonly ids: IdMaker) {}
      onModuleDestroy() {
        made.push(this.ids.nextIdString());
      }
    }
    const app = await Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        SnowflakeModule.forRoot({
          support: new MemorySupport({ registry }),
        }),
      ],
      providers: [Orders],
    }).compile();
    await app.init();
    expect(registry.state!.holders.size).toBe(1);
    await app.close();
    expect(made).toHaveLength(1);
    expect(registry.state!.holders.size).toBe(0);
  });

  it('does not make jobs of the application run twice', async () => {
    const runs: string[] = [];
    @Injectable()
    class Jobs {
      @Timeout(50)
      timeout() {
        runs.push('timeout');
      }
      @Cron('0 0 1 1 *', { name: 'yearly' })
      cron() {}
    }
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: 3 })],
      providers: [Jobs],
    }).compile();
    await app.init();
    // Registered twice, both would run in one turn of the event loop.
    await until(() => runs.length > 0);
    await app.close();
    expect(runs).toEqual(['timeout']);
  });

  it('fails with what to add when ScheduleModule is missing', async () => {
    const building = Test.createTestingModule({
      imports: [SnowflakeModule.forRoot({ workerId: 1 })],
    }).compile();
    await expect(building).rejects.toThrow('ScheduleModule.forRoot()');
  });

  it('fails the start with the reason when Redis is down, and leaves nothing open', async () => {
    const app = await appOf({ support: 'redis://127.0.0.1:1', startTimeoutMs: 300 });
    await expect(app.init()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await app.close();
  });
});

describe('platforms', () => {
  @Controller()
  class Ids {
    constructor(private readonly ids: IdMaker) {}
    @Get('id')
    id(): string {
      return this.ids.nextIdString();
    }
  }
  @Module({
    imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: 11 })],
    controllers: [Ids],
  })
  class App {}

  it.each(['express', 'fastify'])('serves ids under %s', async (platform) => {
    const app =
      platform === 'express'
        ? await NestFactory.create(App, SILENT)
        : await NestFactory.create(App, new FastifyAdapter(), SILENT);
    await app.listen(0, '127.0.0.1');
    const response = await fetch(`${await app.getUrl()}/id`);
    expect(layouts.snowflake().parse(await response.text()).workerId).toBe(11);
    await app.close();
  });

  it('works in a standalone application context', async () => {
    const app = await NestFactory.createApplicationContext(App, SILENT);
    expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
    await app.close();
  });
});
