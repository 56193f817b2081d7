/**
 * Cron jobs of applications. One in three replicas of the built shop, on each store that it may
 * keep its locks in: every time that it is due it is done once, also where the replica that does it
 * is killed. And what `@CronOnce` does in a Nest application, on locks in memory.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { MemoryLocks } from '../../lib/index.js';
import { recordIn } from '../../lib/cron/cron-record.js';
import { lockOfJob } from '../../lib/nest/lock/cron-once.js';
import {
  CronJobs,
  CronOnce,
  DistributedLock,
  LockModule,
  type CronRun,
} from '../../lib/nest/lock/index.js';
import { locksOf } from '../../lib/stores/schemes.js';
import type { LockRecord, LockStore } from '../../lib/lock/lock-store.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { until } from '../until.js';
import { BuiltShop, type ShopProcess } from './shop-process.js';

const SLOW_MS = 600_000;
const EVERY_S = 5;
/** A run that was begun so recently has not ended yet. */
const YOUNG_MS = 1000;
const TWICE = 'duplicate key';

interface Report {
  /** As Unix time in ms. */
  readonly at: number;
  readonly madeBy: string;
}

describe.each([
  { store: 'its database', locks: () => '' },
  { store: 'Redis', locks: () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}` },
])('a cron job with its locks in $store', ({ locks }) => {
  let database: OwnDatabase;
  let client: pg.Client;
  let replicas: ShopProcess[];
  let held: LockStore;

  beforeAll(async () => {
    const built = await BuiltShop.build();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const url = locks();
    const env = {
      SNOWFLAKE_SUPPORT: `${process.env['REDIS_URL']}?namespace=${randomUUID()}`,
      SNOWFLAKE_LOCKS: url,
      DATABASE_URL: database.url,
      REPORT_EVERY_S: String(EVERY_S),
    };
    replicas = await Promise.all([1, 2, 3].map(() => built.start(env)));
    held = await locksOf(url || `${database.url}?namespace=shop&replicated=false`);
  }, SLOW_MS);
  afterAll(async () => {
    await held.close?.();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await client.end();
    await database.drop();
  }, SLOW_MS);

  const reports = async (): Promise<Report[]> => {
    const at = `(extract(epoch FROM at) * 1000)::float8 AS at`;
    const sql = `SELECT ${at}, "madeBy" FROM sales_report ORDER BY at`;
    return (await client.query<Report>(sql)).rows;
  };
  const made = (count: number) => until(async () => (await reports()).length >= count);

  /** The tick of the run that is under way; undefined if the record says none. */
  const tickOf = async ({ lock }: LockRecord): Promise<number | undefined> => {
    const noted = (await held.notes!()).find((one) => one.lock === lock);
    const [run] = recordIn(noted?.note)?.runs ?? [];
    return run?.outcome === 'running' ? run.tickMs : undefined;
  };

  /** In the midst of it; the others look again when its lock is free. */
  const killWhoDoesIt = async (): Promise<{ killed: ShopProcess; at: number }> => {
    for (;;) {
      const stop = await stopped(database.url);
      let running: LockRecord[] = [];
      const begun = async () => {
        running = (await held.locks!()).filter(({ isKept }) => !isKept);
        return running.length > 0;
      };
      await until(begun);
      const [record] = running;
      const at = await tickOf(record!);
      const isFit = at !== undefined && Date.now() < at + YOUNG_MS;
      const killed = replicas.find(({ pid }) => record!.label.includes(` ${pid} `))!;
      if (isFit) await killed.kill();
      await stop.end();
      if (isFit) return { killed, at };
      await until(async () => !(await begun()));
    }
  };

  it(
    'is done once each time',
    async () => {
      await made(2);
      expect(gapsIn(await reports())).toEqual([]);
      // The database would refuse a second report.
      expect(replicas.map(({ output }) => output.includes(TWICE))).not.toContain(true);
    },
    SLOW_MS,
  );

  it(
    'is done by another replica where the one that does it is killed, and goes on',
    async () => {
      const { killed, at } = await killWhoDoesIt();
      const done = async () => (await reports()).find((report) => report.at === at);
      await until(async () => (await done()) !== undefined);
      expect((await done())!.madeBy).not.toMatch(new RegExp(` ${killed.pid}$`));
      // Those that were held up meanwhile are done in any order.
      await until(async () => {
        const all = await reports();
        return all.at(-1)!.at >= at + 2 * EVERY_S * 1000 && gapsIn(all).length === 0;
      });
      expect(replicas.map(({ output }) => output.includes(TWICE))).not.toContain(true);
    },
    SLOW_MS,
  );
});

/** The times at which it was due, and not done. */
function gapsIn(reports: readonly Report[]): number[] {
  const times = reports.map(({ at }) => at);
  const everyMs = EVERY_S * 1000;
  return times.slice(1).filter((at, n) => at !== times[n]! + everyMs);
}

/** Whoever counts orders waits, so that the job goes on until this has ended. */
async function stopped(connectionString: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
  return { end: () => client.end() };
}

/*
 * @CronOnce in Nest applications: schedules of @nestjs/schedule, and a fleet of applications that
 * share their locks.
 */

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

  it('has a lock whose name is valid, however long that of the job is', () => {
    for (const job of ['Reports.nightly', 'x'.repeat(123), 'y'.repeat(500), 'a|b c:d']) {
      expect(lockOfJob(job)).toMatch(/^cron:[^\s|]+$/);
      expect(lockOfJob(job).length).toBeLessThanOrEqual(128);
    }
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
    const wrong = {
      timeZone: 'UTC',
      utcOffset: 60,
      lateMs: -1,
      missed: 'all',
      holdAtMostMs: 5,
      every: 3,
    } as object;
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
      '`timeZone` or `utcOffset`, got both',
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
