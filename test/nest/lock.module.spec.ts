/**
 * Locks in a Nest application: the module, `@Locked` on providers, controllers and jobs, and the
 * shutdown.
 */
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Param,
  Post,
  Scope,
  SetMetadata,
  StreamableFile,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { from } from 'rxjs';
import { MemoryLocks } from 'nestjs-snowflake';
import {
  DistributedLock,
  Locked,
  LockModule,
  type LockSection,
  type LockStore,
} from 'nestjs-snowflake/lock';
import { openLocks } from '../../lib/nest/lock/open-locks.js';
import { applicationName } from '../../lib/nest/generator-options.js';
import { SettableTime } from '../../lib/testing/index.js';
import { turn } from '../../lib/time/timers.js';
import { codeOf, open } from '../lock/held-locks.js';

describe('lock module', () => {
  interface Order {
    readonly id: string;
  }

  const OPENED: INestApplication[] = [];
  const SILENT = { log() {}, error() {}, warn() {} };

  afterEach(async () => {
    await Promise.all(OPENED.splice(0).map((app) => app.close()));
  });

  async function application(
    parts: { providers?: Type[]; controllers?: Type[]; imports?: Type[] },
    locks: MemoryLocks = new MemoryLocks(),
  ): Promise<INestApplication> {
    const { providers = [], controllers = [], imports = [] } = parts;
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ locks, application: 'shop' }), ...imports],
      providers,
      controllers,
    })
      .setLogger(SILENT)
      .compile();
    const app = module.createNestApplication({ logger: false });
    OPENED.push(app);
    await app.listen(0, '127.0.0.1');
    return app;
  }

  @Injectable()
  class Orders {
    readonly locks: string[][] = [];

    constructor(readonly lock: DistributedLock) {}

    @Locked((order: Order) => `order:${order.id}`)
    async pay(order: Order, note = 'none'): Promise<string> {
      this.locks.push((await this.lock.list()).map(({ lock }) => lock));
      return `${order.id} ${note}`;
    }

    @Locked('all', { onHeld: 'skip' })
    async sweep(): Promise<number> {
      return this.locks.push(['swept']);
    }
  }

  describe('LockModule', () => {
    it('makes the locks of a store injectable', async () => {
      const store = new MemoryLocks();
      const app = await application({}, store);
      const locks = app.get(DistributedLock);
      await locks.using('a', async () => {
        const [held] = await store.locks();
        expect(held).toMatchObject({ lock: 'a', label: expect.stringMatching(/ shop$/) });
      });
    });

    it('suggests the intended name for a misspelled option', async () => {
      const failure = openLocks({ locks: 'memory:', drainMS: 5 } as never);
      await expect(failure).rejects.toThrow('no option `drainMS`. Did you mean `drainMs`?');
    });

    it('uses the default application name if undefined is given', async () => {
      const store = new MemoryLocks();
      const locks = await openLocks({ locks: store, application: undefined });
      await locks.using('a', async () => {
        const [held] = await store.locks();
        expect(held?.label.endsWith(` ${applicationName()}`)).toBe(true);
      });
      await locks.close();
    });

    it('takes options from a factory, with a store given by URL', async () => {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRootAsync({ useFactory: async () => ({ locks: 'memory:' }) })],
      })
        .setLogger(SILENT)
        .compile();
      const locks = module.get(DistributedLock);
      expect(await locks.using('a', async ({ token }) => token > 0n)).toBe(true);
      await module.close();
    });

    it('names all errors at once, and no secret', async () => {
      const options = { locks: 'redis2://user:secret@host', ttlMs: 5, drainMs: -1 };
      const imports = [LockModule.forRoot(options)];
      const module = Test.createTestingModule({ imports }).setLogger(SILENT);
      const failure = (await module.compile().catch((error: unknown) => error)) as Error;
      expect(failure.message).toMatch(/ttlMs.*drainMs.*No lock store/s);
      expect(failure.message).not.toContain('secret');
    });

    it.each([[undefined], [null], [7], [{}], ['static:1'], [{ acquire: 1 }]])(
      'refuses %s as a store',
      async (locks) => {
        const options = { locks } as unknown as { locks: string };
        const imports = [LockModule.forRoot(options)];
        const module = Test.createTestingModule({ imports }).setLogger(SILENT);
        expect(await codeOf(module.compile())).toBe('CONFIG_INVALID');
      },
    );
  });

  describe('@Locked', () => {
    it('runs a method of a provider under the lock that its arguments name', async () => {
      const app = await application({ providers: [Orders] });
      const orders = app.get(Orders);
      expect(await orders.pay({ id: '7' }, 'soon')).toBe('7 soon');
      expect(await orders.pay({ id: '8' })).toBe('8 none');
      expect(orders.locks).toEqual([['order:7'], ['order:8']]);
    });

    it('refuses or skips the call if another application holds the lock', async () => {
      const store = new MemoryLocks();
      const [one, other] = [
        await application({ providers: [Orders] }, store),
        await application({ providers: [Orders] }, store),
      ];
      await one.get(DistributedLock).using('order:7', async () => {
        expect(await codeOf(other.get(Orders).pay({ id: '7' }))).toBe('LOCK_HELD');
      });
      await one.get(DistributedLock).using('all', async () => {
        expect(await other.get(Orders).sweep()).toBeUndefined();
      });
      expect(await other.get(Orders).sweep()).toBe(1);
    });

    it.each([
      [{ id: undefined }],
      [{ id: null }],
      [{ id: NaN }],
      [{ id: '' }],
      [{ id: 'eu:' }],
      [{ id: {} }],
      [{ id: 'a b' }],
      [{ id: 'x'.repeat(200) }],
    ])('refuses the key of %j', async (order) => {
      const app = await application({ providers: [Orders] });
      const orders = app.get(Orders);
      expect(await codeOf(orders.pay(order as unknown as Order))).toBe('ARGUMENT_INVALID');
      expect(orders.locks).toEqual([]);
    });

    it.each(['undefined7', '::1', '2001:db8::'])('accepts %s as part of a key', async (id) => {
      const app = await application({ providers: [Orders] });
      expect(await app.get(Orders).pay({ id })).toBe(`${id} none`);
    });

    it.each([
      ['an Observable', () => from([1])],
      ['a generator', () => [1].values()],
      ['an asynchronous generator', () => Readable.from([1]).iterator()],
      ['a stream', () => Readable.from(['a'])],
      ['a file', () => new StreamableFile(Buffer.of(1))],
    ])('refuses to return a stream, which would continue without the lock: %s', async (_, made) => {
      class Rows {
        @Locked('rows')
        async read(): Promise<object> {
          return made();
        }
      }
      const app = await application({ providers: [Rows] });
      const read = app.get(Rows).read();
      await expect(read).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      await expect(read).rejects.toThrow(/^read is @Locked and returned a stream/);
    });

    it('refuses calls on an object that Nest did not create', async () => {
      const orders = new Orders(new DistributedLock(new MemoryLocks()));
      expect(await codeOf(orders.pay({ id: '7' }))).toBe('CONFIG_INVALID');
    });

    it('fails the start without LockModule', async () => {
      const module = Test.createTestingModule({ providers: [Orders] }).setLogger(SILENT);
      await expect(module.compile()).rejects.toThrow('DistributedLock');
    });

    it('fails the start, naming every invalid option', async () => {
      class Wrong {
        @Locked('a b', { onHeld: 'wait' as 'skip' })
        async run(): Promise<void> {}

        @Locked('a', { wait: 5 } as object)
        async go(): Promise<void> {}

        @Locked('mail:')
        async send(): Promise<void> {}
      }
      const starting = application({ providers: [Wrong] });
      await expect(starting).rejects.toThrow(
        /Wrong\.run.*onHeld.*Wrong\.run.*key.*Wrong\.go.*Wrong\.send.*"mail:"/s,
      );
    });

    it('works in providers of any scope, and in subclasses', async () => {
      @Injectable({ scope: Scope.REQUEST })
      class Requested extends Orders {
        constructor(@Inject(DistributedLock) lock: DistributedLock) {
          super(lock);
        }

        @Locked('more')
        async more(): Promise<number> {
          return (await this.lock.list()).length;
        }
      }
      const app = await application({ providers: [Requested] });
      const [one, other] = [await app.resolve(Requested), await app.resolve(Requested)];
      expect(one).not.toBe(other);
      expect([await one.more(), await other.pay({ id: '9' })]).toEqual([1, '9 none']);
    });

    it('uses the locks of its own application', async () => {
      const [one, other] = [
        await application({ providers: [Orders] }),
        await application({ providers: [Orders] }),
      ];
      const end = open();
      const held = one.get(DistributedLock).using('order:7', () => end.promise);
      expect(await other.get(Orders).pay({ id: '7' })).toBe('7 none');
      expect(await codeOf(one.get(Orders).pay({ id: '7' }))).toBe('LOCK_HELD');
      end.resolve();
      await held;
    });
  });

  const NOTE = 'test:note';

  @Injectable()
  class Guard implements CanActivate {
    static readonly seen: unknown[] = [];

    constructor(private readonly reflector: Reflector) {}

    canActivate(context: ExecutionContext): boolean {
      Guard.seen.push(this.reflector.get(NOTE, context.getHandler()), context.getHandler().name);
      return true;
    }
  }

  @Controller('orders')
  class OrdersController {
    constructor(private readonly lock: DistributedLock) {}

    @Locked((id: string) => `order:${id}`)
    @Get('below/:id')
    @UseGuards(Guard)
    @SetMetadata(NOTE, 'below')
    async below(@Param('id') id: string): Promise<string> {
      return `${id} ${(await this.lock.list()).map(({ lock }) => lock).join()}`;
    }

    @SetMetadata(NOTE, 'above')
    @UseGuards(Guard)
    @Post('above/:id')
    @Locked((id: string) => `order:${id}`)
    async above(@Param('id') id: string, @Body() body: Order): Promise<string> {
      return `${id} ${body.id} ${(await this.lock.list()).map(({ lock }) => lock).join()}`;
    }
  }

  describe('@Locked on a controller', () => {
    it.each(['below', 'above'])(
      'keeps the metadata of other decorators, which are %s @Locked',
      async (where) => {
        Guard.seen.length = 0;
        const app = await application({ controllers: [OrdersController] });
        const init =
          where === 'below'
            ? {}
            : {
                method: 'POST',
                body: '{"id":"9"}',
                headers: { 'content-type': 'application/json' },
              };
        const answer = await fetch(`${await app.getUrl()}/orders/${where}/7`, init);
        expect(await answer.text()).toBe(where === 'below' ? '7 order:7' : '7 9 order:7');
        expect(Guard.seen).toEqual([where, where]);
        const types: unknown = Reflect.getMetadata(
          'design:paramtypes',
          OrdersController.prototype,
          'below',
        );
        expect(types).toEqual([String]);
      },
    );
  });

  function countsOf(apps: readonly INestApplication[]) {
    const counts = apps.map((app) => app.get(DistributedLock).status.counts);
    const sum = (name: 'refused' | 'acquired') =>
      counts.reduce((total, each) => total + each[name], 0);
    return { refused: sum('refused'), acquired: sum('acquired') };
  }

  describe('@Locked on a job', () => {
    @Injectable()
    class Jobs {
      static runs: string[] = [];

      @Cron('0 0 1 1 *', { name: 'below' })
      @Locked('job:below', { onHeld: 'skip', holdAtLeastMs: 60_000 })
      async below(): Promise<void> {
        Jobs.runs.push('below');
      }

      @Locked('job:above', { onHeld: 'skip', holdAtLeastMs: 60_000 })
      @Cron('0 0 1 1 *', { name: 'above' })
      async above(): Promise<void> {
        Jobs.runs.push('above');
      }
    }

    it.each(['below', 'above'])('runs once in three applications, %s @Cron', async (name) => {
      Jobs.runs = [];
      const store = new MemoryLocks();
      const apps = await Promise.all(
        [1, 2, 3].map(() =>
          application({ providers: [Jobs], imports: [ScheduleModule.forRoot() as never] }, store),
        ),
      );
      for (const app of apps) void app.get(SchedulerRegistry).getCronJob(name).fireOnTick();
      // Nest does not wait for a tick. Locks in memory take a few turns of the event loop.
      for (let count = 0; count < 20; count++) await turn();
      expect(Jobs.runs).toEqual([name]);
      const { refused, acquired } = countsOf(apps);
      expect({ refused, acquired }).toEqual({ refused: 2, acquired: 1 });
    });
  });

  describe('a shutdown', () => {
    it('waits for the running section, and refuses later calls', async () => {
      const store = new MemoryLocks();
      const app = await application({ providers: [Orders] }, store);
      const locks = app.get(DistributedLock);
      const [begun, end] = [open<LockSection>(), open()];
      const held = locks.using('a', async (section) => {
        begun.resolve(section);
        await end.promise;
        return 'done';
      });
      await begun.promise;
      OPENED.splice(0);
      let isClosed = false;
      const closed = app.close().then(() => (isClosed = true));
      await turn();
      expect(isClosed).toBe(false);
      end.resolve();
      expect(await held).toBe('done');
      await closed;
      expect(await store.locks()).toEqual([]);
      expect(await codeOf(locks.using('a', () => 1))).toBe('NOT_READY');
    });

    it('waits once for a section that does not end', async () => {
      const time = new SettableTime();
      const locks = new MemoryLocks({ clock: time });
      const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ locks, drainMs: 4000, ...ports })],
      })
        .setLogger(SILENT)
        .compile();
      await module.init();
      const end = open();
      const ran = codeOf(module.get(DistributedLock).using('a', () => end.promise));
      await time.advance(0);
      const startMs = time.passedMs;
      let isClosed = false;
      const closed = module.close().then(() => (isClosed = true));
      while (!isClosed) await time.advance(100);
      await closed;
      expect(time.passedMs - startMs).toBeLessThan(4000 + 500);
      end.resolve();
      expect(await ran).toBe('no error');
    });
  });

  // Only the compiler checks these lines.
  class Typed {
    @Locked((id: string) => id)
    async takesAsMuch(_id: string): Promise<void> {}

    @Locked((id: string) => id)
    async takesMore(_id: string, _more: number): Promise<void> {}

    // @ts-expect-error the key takes a string, and the method a number
    @Locked((id: string) => id)
    async takesAnother(_id: number): Promise<void> {}

    // @ts-expect-error the key takes more arguments than the method
    @Locked((id: string, more: string) => id + more)
    async takesLess(_id: string): Promise<void> {}

    // @ts-expect-error the lock cannot wait for a method without a promise
    @Locked('key')
    returnsAtOnce(): number {
      return 1;
    }
  }
  void Typed;
});

/*
 * What the log of an application contains about its locks: one line for a pause of the store,
 * however many callers wait, and one for a section that may hang.
 */
describe('lock log', () => {
  let module: TestingModule | undefined;
  afterEach(() => module?.close());

  async function logged(locks: LockStore, options: object) {
    const warnings: string[] = [];
    const nothing = () => undefined;
    const warn = (line: string) => void (/in memory/.test(line) || warnings.push(line));
    module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ locks, ...options })],
    })
      .setLogger({ log: nothing, error: nothing, warn })
      .compile();
    await module.init();
    return { warnings, locks: module.get(DistributedLock) };
  }

  describe('the log', () => {
    it('has one line for each pause of the store', async () => {
      const store = new MemoryLocks();
      store.acquire = async () => ({ status: 'wait', waitMs: 500_000 });
      const { warnings, locks } = await logged(store, {});
      for (const name of ['a', 'b', 'a']) {
        expect(await codeOf(locks.using(name, () => 1))).toBe('STORE_UNAVAILABLE');
      }
      expect(warnings).toEqual([expect.stringMatching(/grants none for another 500000 ms/)]);
    });

    it('has another line for the next pause', async () => {
      const store = new MemoryLocks();
      store.acquire = async () => ({ status: 'wait', waitMs: 0 });
      const { warnings, locks } = await logged(store, {});
      for (let n = 0; n < 2; n++) await codeOf(locks.using('a', () => 1));
      expect(warnings).toHaveLength(2);
    });

    it('has one line for a section that runs for ten times its TTL', async () => {
      const time = new SettableTime();
      const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
      const { warnings, locks } = await logged(new MemoryLocks({ clock: time }), ports);
      const end = open();
      const ran = locks.using('job', () => end.promise);
      await time.advance(105_000);
      end.resolve();
      await ran;
      expect(warnings).toEqual([
        expect.stringMatching(/job has been held for 10\d s.*holdAtMostMs/),
      ]);
    });
  });
});
