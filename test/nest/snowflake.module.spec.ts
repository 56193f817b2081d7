/**
 * The module in real Nest applications: injection, lifecycle, several generators, both platforms.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import {
  Controller,
  type DynamicModule,
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
  getDistributedSupportToken,
  getIdMakerToken,
  IDistributedSupport,
  IdMaker,
  InjectIdMaker,
  layouts,
  MemoryRows,
  MemorySupport,
  SnowflakeModule,
  type SnowflakeModuleOptions,
  startSnowflake,
  StaticSupport,
} from 'nestjs-snowflake';
import { applicationName } from '../../lib/nest/generator-options.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { systemIdentity } from '../../lib/time/process-identity.js';
import { ROOT } from '../tidy/tree.js';
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

  it('is global by default, and otherwise available only where it is imported', async () => {
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

  it('refuses the same static worker ID for two generators of a process', async () => {
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

  it('contacts no store if the support is overridden', async () => {
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
  it('refuses IDs before the start and after the shutdown', async () => {
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

  it.each([true, false])('has IDs ready in each onModuleInit, global: %s', async (isGlobal) => {
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

  it('generates IDs while other modules shut down, then releases the worker ID', async () => {
    const made: string[] = [];
    const support = new MemorySupport({ rows: new MemoryRows() });
    const holders = async () =>
      (await support.workers()).filter(({ holder }) => holder !== undefined);
    @Injectable()
    class Orders implements OnModuleDestroy {
      constructor(private readonly ids: IdMaker) {}
      onModuleDestroy() {
        made.push(this.ids.nextIdString());
      }
    }
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ support })],
      providers: [Orders],
    }).compile();
    await app.init();
    expect(await holders()).toHaveLength(1);
    await app.close();
    expect(made).toHaveLength(1);
    expect(await holders()).toEqual([]);
  });

  it('runs jobs of the application only once', async () => {
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
    // If they were registered two times, both would run in one turn of the event loop.
    await until(() => runs.length > 0);
    await app.close();
    expect(runs).toEqual(['timeout']);
  });

  it('fails without ScheduleModule, and names what to add', async () => {
    const building = Test.createTestingModule({
      imports: [SnowflakeModule.forRoot({ workerId: 1 })],
    }).compile();
    await expect(building).rejects.toThrow('ScheduleModule.forRoot()');
  });

  it('fails with the reason if Redis is down, and leaves nothing open', async () => {
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

  it.each(['express', 'fastify'])('serve IDs under %s', async (platform) => {
    const app =
      platform === 'express'
        ? await NestFactory.create(App, SILENT)
        : await NestFactory.create(App, new FastifyAdapter(), SILENT);
    await app.listen(0, '127.0.0.1');
    const response = await fetch(`${await app.getUrl()}/id`);
    expect(layouts.snowflake().parse(await response.text()).workerId).toBe(11);
    await app.close();
  });

  it('include a standalone application context', async () => {
    const app = await NestFactory.createApplicationContext(App, SILENT);
    expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
    await app.close();
  });
});

/*
 * Mistakes in how the module is registered, and the options that the application supplies. One
 * error lists all of them, before anything is leased.
 */
const compile = (...imports: DynamicModule[]) => Test.createTestingModule({ imports }).compile();

async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = (await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as { code: string; details: { faults: string[] } };
  expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
  return error.details.faults;
}

describe('missing or invalid options', () => {
  it.each([undefined, null, 'redis://localhost', 7])(
    'as forRoot(%j) fail the start',
    async (options) => {
      const module = SnowflakeModule.forRoot(options as never);
      const [fault, ...more] = await faultsOf(compile(ScheduleModule.forRoot(), module));
      expect(fault).toContain('Expected the options to be an object, got');
      expect(more).toEqual([]);
    },
  );

  it('from the factory of forRootAsync fail the start', async () => {
    const module = SnowflakeModule.forRootAsync({ useFactory: () => undefined as never });
    const faults = await faultsOf(compile(ScheduleModule.forRoot(), module));
    expect(faults).toEqual([expect.stringContaining('return it from the factory')]);
  });

  it.each([undefined, null, {}])('as forRootAsync(%j) fail the start', async (options) => {
    const module = SnowflakeModule.forRootAsync(options as never);
    const faults = await faultsOf(compile(ScheduleModule.forRoot(), module));
    expect(faults).toEqual([expect.stringContaining('useFactory, useClass, useExisting')]);
  });

  it.each([undefined, null, 'redis://localhost'])('as startSnowflake(%j) fail', async (options) => {
    const faults = await faultsOf(startSnowflake(options as never));
    expect(faults).toEqual([expect.stringContaining('Expected the options to be an object')]);
  });
});

describe('a generator that is registered two times', () => {
  it.each([undefined, 'orders'])('under the name %s is refused', async (name) => {
    const support = new MemorySupport({ rows: new MemoryRows() });
    const ask = jest.spyOn(support, 'getNextWorkId');
    const twice = [1, 2].map(() => SnowflakeModule.forRoot({ support, name }));
    const faults = await faultsOf(compile(ScheduleModule.forRoot(), ...twice));
    expect(faults).toEqual([expect.stringContaining('registered 2 times')]);
    expect(ask).not.toHaveBeenCalled();
  });

  it('is reported together with other errors', async () => {
    const twice = [1, 2].map(() =>
      SnowflakeModule.forRoot({ leaseTtlMs: 1, supports: { Static: 1 } as never }),
    );
    const faults = await faultsOf(compile(...twice));
    expect(faults).toEqual([
      expect.stringContaining('ScheduleModule is not imported'),
      expect.stringContaining('registered 2 times'),
      expect.stringContaining('"Static"'),
      expect.stringContaining('Neither `support`'),
      expect.stringContaining('`leaseTtlMs`'),
    ]);
  });

  it('is allowed as one dynamic module in several imports', async () => {
    const module = SnowflakeModule.forRoot({ workerId: 910, isGlobal: false });
    class Shop {}
    const shop = { module: Shop, imports: [module] };
    const app = await compile(ScheduleModule.forRoot(), module, shop);
    await app.init();
    expect(app.get(IdMaker).status.workerId).toBe(910);
    await app.close();
  });
});

describe('the option `supports`', () => {
  const resolve = (support: string, supports: unknown) =>
    resolveOptions({ support, supports } as SnowflakeModuleOptions, true);

  it.each([
    ['synchronously', (url: string) => new StaticSupport(url.length)],
    ['asynchronously', async (url: string) => new StaticSupport(url.length)],
  ])('creates a support from a URL, %s', async (_, local) => {
    for (const url of ['local:/run/id', 'LOCAL:/run/id']) {
      expect((await resolve(url, { local })).support).toEqual(new StaticSupport(url.length));
    }
  });

  it.each([
    ['my scheme', { 'my scheme': () => new StaticSupport(1) }, '"my scheme"'],
    ['File', { File: () => new StaticSupport(1) }, '"File"'],
    [
      'redis',
      { redis: () => new StaticSupport(1) },
      '`redis` in `supports` belongs to this package',
    ],
    ['rediss+cluster', { 'rediss+cluster': () => new StaticSupport(1) }, 'belongs to this package'],
    ['a value that is no function', { local: 'x' }, '`supports.local` to be a function'],
    ['a list', [() => new StaticSupport(1)], '`supports` to be an object'],
    ['null', null, '`supports` to be an object'],
  ])('refuses %s', async (_, supports, text) => {
    expect(await faultsOf(resolve('static:1', supports))).toEqual([expect.stringContaining(text)]);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no file x:secret@y in x://u:secret@y')), 'no file'],
    ['returns nothing', () => undefined, 'got undefined'],
    ['returns no support', () => ({ getNextWorkId: 1 }), 'got object'],
  ])('reports a function that %s, without the URL', async (_, x, text) => {
    const [fault] = await faultsOf(resolve('x://u:secret@y', { x }));
    expect(fault).toContain(text);
    expect(fault).not.toContain('secret');
  });

  it('is listed if a URL is unknown', async () => {
    const local = () => new StaticSupport(1);
    const [fault] = await faultsOf(resolve('fiel:/run/id', { local, 'own+two': local }));
    expect(fault).toContain('of this application local:, own+two:');
    // An inherited member of an object is not a scheme.
    expect(await faultsOf(resolve('constructor:1', { local }))).toHaveLength(1);
  });

  it('closes its support if another option is invalid', async () => {
    const close = jest.fn(async () => undefined);
    const local = () => Object.assign(new StaticSupport(1), { close });
    const options = { support: 'local:1', supports: { local }, aheadMsMax: -1 };
    expect(await faultsOf(resolveOptions(options, true))).toHaveLength(1);
    expect(close).toHaveBeenCalledTimes(1);
  });
});

describe('the name of the application', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'snowflake-name-')));
  afterAll(() => rmSync(root, { recursive: true }));
  const folder = (...parts: string[]) => {
    const path = join(root, ...parts);
    mkdirSync(path, { recursive: true });
    return path;
  };
  writeFileSync(join(root, 'package.json'), '{ "name": "@acme/shop" }');
  writeFileSync(join(folder('dist'), 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(folder('broken'), 'package.json'), '{ "name": ');
  writeFileSync(join(folder('odd'), 'package.json'), '{ "name": 7 }');
  writeFileSync(join(folder('empty'), 'package.json'), 'null');

  it.each(['dist/main.js', 'dist/apps/shop/main', 'broken/main.js', 'odd/main.js', 'empty/x', 'x'])(
    'is that of the package around %s',
    (entryPoint) => expect(applicationName({}, join(root, entryPoint))).toBe('@acme/shop'),
  );

  it('appears with the version from the package.json of the library', () => {
    const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
      version: string;
    };
    expect(systemIdentity('shop').label()).toMatchObject({ application: 'shop', version });
  });

  it('is the package name from npm, if npm started the process', () => {
    expect(applicationName({ npm_package_name: 'shop' }, join(root, 'x'))).toBe('shop');
  });

  // The variables that PM2 7 sets in fork and in cluster mode.
  it.each(['ProcessContainer.js', 'ProcessContainerFork.js'])(
    'is that of the application that PM2 runs by %s, not of PM2 or its daemon',
    (container) => {
      const lib = folder('node_modules', 'pm2', 'lib');
      writeFileSync(join(lib, '..', 'package.json'), '{ "name": "pm2" }');
      const env = { npm_package_name: 'daemon', pm_exec_path: join(root, 'dist', 'main.js') };
      expect(applicationName(env, join(lib, container))).toBe('@acme/shop');
      // `pm2 start npm -- start`: npm runs the application and sets its name.
      const byNpm = { ...env, npm_package_name: 'shop' };
      expect(applicationName(byNpm, join(root, 'dist', 'main.js'))).toBe('shop');
    },
  );

  it('is `unnamed` if no package is found, and never an error', () => {
    expect(applicationName({}, '')).toBe('unnamed');
    expect(applicationName({}, '/nowhere/\0/main.js')).toBe('unnamed');
  });

  it('is that of the option, which has to be a string', async () => {
    expect((await resolveOptions({ workerId: 1, application: 'shop' }, true)).application).toBe(
      'shop',
    );
    const faults = await faultsOf(resolveOptions({ workerId: 1, application: 7 as never }, true));
    expect(faults).toEqual([expect.stringContaining('`application` to be a string, got 7')]);
  });
});
