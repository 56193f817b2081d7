/**
 * Callers that wait for an ID before the start of the application has begun. If an async factory
 * awaits an ID, Nest never begins the start. The log names that wait and its remedy.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger, type DynamicModule, type LoggerService } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  IdMaker,
  MemoryCounters,
  MemorySupport,
  SnowflakeError,
  SnowflakeModule,
} from 'nestjs-snowflake';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { SettableTime } from 'nestjs-snowflake/testing';
import { until } from '../until.js';

/** A store that is down, or answers. */
type Kind = (time: SettableTime, options?: { lazy?: boolean; isDown?: boolean }) => DynamicModule;

const down = () => Promise.reject(new SnowflakeError('STORE_UNAVAILABLE', 'The store is down.'));

const KINDS: readonly (readonly [string, Kind])[] = [
  [
    'snowflake ids',
    (time, { lazy, isDown } = {}) => {
      const support = new MemorySupport({ clock: time });
      if (isDown) support.getNextWorkId = down;
      return SnowflakeModule.forRoot({ support, clock: time, timers: time, lazy });
    },
  ],
  [
    'numbers of a counter',
    (time, { lazy, isDown } = {}) => {
      const store = new MemoryCounters({ clock: time });
      if (isDown) store.take = down;
      const counter = { counter: 'orders', startAt: 1n };
      return SegmentsModule.forRoot({ store, ...counter, timers: time, lazy });
    },
  ],
];

let app: TestingModule | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe.each(KINDS)('a caller of %s', (_, moduleOf) => {
  const NOT_BEGUN = /waited for an id for 5 s, and the start of the application has not begun/;

  /** An application with a provider that gets an id, and what it has logged. */
  function made(useFactory: (ids: IdMaker) => unknown, options?: Parameters<Kind>[1]) {
    const time = new SettableTime();
    const warned: string[] = [];
    const quiet = () => undefined;
    const warn = (text: string) => void warned.push(text);
    const logger: LoggerService = { log: quiet, error: quiet, warn };
    const providers = [{ provide: 'first', useFactory, inject: [IdMaker] }];
    const imports = [ScheduleModule.forRoot(), moduleOf(time, options)];
    Logger.overrideLogger(logger);
    const compiled = Test.createTestingModule({ imports, providers }).setLogger(logger).compile();
    return {
      time,
      all: warned,
      warned: () => warned.filter((text) => NOT_BEGUN.test(text)),
      compiled,
    };
  }

  it('in an awaited async factory is named in the log after 5 s, once', async () => {
    const wait = new AbortController();
    const { signal } = wait;
    let isAsked = false;
    const { time, warned, compiled } = made((ids) => {
      isAsked = true;
      const asked = [ids.nextIdAsync({ signal }), ids.nextIdsAsync(3, { signal })];
      return Promise.all<unknown>(asked).catch(() => 'no id');
    });
    await until(() => isAsked);
    await time.advance(4999);
    expect(warned()).toEqual([]);
    await time.advance(1);
    expect(warned()).toHaveLength(1);
    expect(warned()[0]).toMatch(/async factory .* make it in onModuleInit/);
    await time.advance(60_000);
    expect(warned()).toHaveLength(1);
    wait.abort();
    app = await compiled;
    expect(app.get('first')).toBe('no id');
  });

  it('before init() is named in the log, and gets its ID after init()', async () => {
    const { time, warned, compiled } = made(() => undefined);
    app = await compiled;
    const ids = app.get(IdMaker);
    expect(() => ids.nextId()).toThrow(/generate the id in onModuleInit or later.*app\.init\(\)/);
    const waited = ids.nextIdAsync();
    await time.advance(5000);
    expect(warned()).toHaveLength(1);
    const started = app.init();
    await time.advance(1000);
    await started;
    expect(typeof (await waited)).toBe('bigint');
  });

  it('in a constructor that does not block the start is not named', async () => {
    let first: Promise<bigint> | undefined;
    const { time, warned, compiled } = made((ids) => void (first = ids.nextIdAsync()));
    app = await compiled;
    const started = app.init();
    await time.advance(1000);
    await started;
    expect(typeof (await first)).toBe('bigint');
    await time.advance(60_000);
    expect(warned()).toEqual([]);
  });

  it.each([false, true])(
    'of a store that is down has its reason in the log (lazy: %p)',
    async (lazy) => {
      const { time, all, warned, compiled } = made(() => undefined, { lazy, isDown: true });
      app = await compiled;
      const started = app.init();
      const ids = app.get(IdMaker);
      const waited = Promise.allSettled([started, ids.nextIdAsync()]);
      await time.advance(5000);
      expect(all.filter((text) => text.includes('The store is down.'))).toHaveLength(1);
      expect(warned()).toEqual([]);
      expect(() => ids.nextId()).toThrow(/ yet, so no id was generated.*Wait with nextIdAsync\(\)/);
      await time.advance(30_000);
      await app.close();
      await waited;
      expect(() => ids.nextId()).toThrow(/at shutdown/);
    },
  );
});
