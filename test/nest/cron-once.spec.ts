/**
 * @CronOnce in Nest applications: schedules of @nestjs/schedule, and a fleet of applications that
 * share their locks.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { MemoryLocks } from '../../lib/index.js';
import { recordIn } from '../../lib/lock/cron-record.js';
import {
  CronJobs,
  CronOnce,
  DistributedLock,
  LockModule,
  type CronRun,
} from '../../lib/nest/lock/index.js';
import { until } from '../until.js';

const SLOW_MS = 60_000;
const open: INestApplicationContext[] = [];

async function start(
  providers: Type[],
  { store = new MemoryLocks(), schedule = true } = {},
): Promise<INestApplicationContext> {
  class App {}
  const imports = [
    LockModule.forRoot({ locks: store }),
    ...(schedule ? [ScheduleModule.forRoot()] : []),
  ];
  Module({ imports, providers })(App);
  const application = await NestFactory.createApplicationContext(App, {
    logger: false,
    abortOnError: false,
  });
  open.push(application);
  return application;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((application) => application.close()));
});

describe('@CronOnce', () => {
  it(
    'runs each tick once in three applications that share their locks',
    async () => {
      const ran: CronRun[] = [];
      @Injectable()
      class Reports {
        readonly word = 'this';
        @CronOnce('* * * * * *', { timeZone: 'Europe/Berlin' })
        async each(run: CronRun): Promise<void> {
          expect(this.word).toBe('this');
          ran.push(run);
        }
      }
      const store = new MemoryLocks();
      const all = await Promise.all([1, 2, 3].map(() => start([Reports], { store })));
      await until(() => ran.length >= 3);
      const ticks = ran.map(({ tick }) => tick.getTime());
      expect(ticks).toEqual(ticks.map((_, at) => ticks[0]! + at * 1000));
      expect(ran[1]!.token > ran[0]!.token).toBe(true);
      expect(ran[0]!.lock).toBe('cron:Reports.each');
      const [noted] = await all[0]!.get(DistributedLock).notes();
      expect(recordIn(noted!.note)!.schedule).toBe('* * * * * * Europe/Berlin');
      const [status] = all[0]!.get(CronJobs).status();
      expect(status).toMatchObject({ job: 'Reports.each', isRunning: expect.any(Boolean) });
      await Promise.all(open.splice(0).map((application) => application.close()));
      const { length } = ran;
      // A tick of a closed application would come within this time.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect(ran.length).toBe(length);
    },
    SLOW_MS,
  );

  it('runs simply if it is given a run, and in an object that Nest did not make', async () => {
    class Reports {
      @CronOnce('0 3 * * *')
      async nightly(run?: Partial<CronRun>): Promise<string> {
        return `the report of ${run?.tick?.toISOString() ?? 'no time'}`;
      }
    }
    expect(await new Reports().nightly()).toBe('the report of no time');
    const application = await start([Reports]);
    const tick = new Date(0);
    expect(await application.get(Reports).nightly({ tick })).toMatch(/1970/);
    expect(application.get(SchedulerRegistry).getCronJobs().size).toBe(1);
  });

  it('keeps what other decorators left on the method', async () => {
    const Mark = (target: object, name: string | symbol, descriptor: PropertyDescriptor) =>
      Reflect.defineMetadata('mark', 'kept', descriptor.value as object);
    class Reports {
      @CronOnce('0 3 * * *')
      @Mark
      async nightly(): Promise<void> {}
    }
    const method = Object.getOwnPropertyDescriptor(Reports.prototype, 'nightly')!.value as object;
    expect(Reflect.getMetadata('mark', method)).toBe('kept');
    expect((method as { name?: string }).name).toBe('nightly');
  });

  it('does not run where it is disabled', async () => {
    class Reports {
      @CronOnce('* * * * * *', { disabled: true })
      async each(): Promise<void> {
        throw new Error('It ran.');
      }
    }
    const application = await start([Reports]);
    expect(application.get(CronJobs).status()).toEqual([]);
  });

  it('is refused at the start with everything that is wrong', async () => {
    const wrong = { lateMs: -1, missed: 'all', holdAtMostMs: 5, every: 3 } as object;
    class Reports {
      @CronOnce('* * * * *', wrong)
      async each(): Promise<void> {}

      @CronOnce('* * * * *', { name: 'one' })
      async first(): Promise<void> {}

      @CronOnce('* * * * *', { name: 'one' })
      async second(): Promise<void> {}
    }
    const failure = await start([Reports], { schedule: false }).then(
      () => 'started',
      (error: Error) => error.message,
    );
    for (const part of [
      '`lateMs`',
      '`missed`',
      '`holdAtMostMs`',
      '`every`',
      'is called one as well',
      'import ScheduleModule.forRoot()',
    ]) {
      expect(failure).toContain(part);
    }
  });

  it('leaves @Cron beside it as it is', async () => {
    let count = 0;
    class Reports {
      @Cron('* * * * * *', { name: 'plain' })
      plain(): void {
        count++;
      }

      @CronOnce('0 3 * * *')
      async nightly(): Promise<void> {}
    }
    const application = await start([Reports]);
    await until(() => count > 0);
    const names = [...application.get(SchedulerRegistry).getCronJobs().keys()];
    expect(names.toSorted()).toEqual(['Reports.nightly', 'plain']);
  });
});
