/**
 * Tasks 9 to 12 of the exam: work that several replicas share, with locks in a PostgreSQL
 * (DATABASE_URL) and in a Redis (REDIS_URL).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type OnApplicationShutdown, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, MemoryLocks, SnowflakeModule, isSnowflakeError } from 'nestjs-snowflake';
import {
  CronOnce,
  DistributedLock,
  LockModule,
  lockKey,
  type CronRun,
} from 'nestjs-snowflake/lock';
import { lockTable, sqlLocks } from 'nestjs-snowflake/sql';
import { Pool } from 'pg';

const namespace = randomUUID();
const redis = `${process.env['REDIS_URL']}?namespace=${namespace}`;
const pool = new Pool({ connectionString: process.env['DATABASE_URL']! });
after(() => pool.end());

const replica = (module: Type) => NestFactory.createApplicationContext(module, { logger: false });

// Task 9. Of all replicas one at a time may book on an account; and one that stood still meanwhile
// must not write over what the next one has written. Names of accounts come from customers.

@Injectable()
class Bookings {
  constructor(private readonly locks: DistributedLock) {}

  book(account: string, amount: number): Promise<number> {
    return this.locks.using(lockKey`account:${account}`, { waitMs: 60_000 }, async ({ token }) => {
      const { rows } = await pool.query('SELECT balance FROM accounts WHERE name = $1', [account]);
      return this.write(account, Number(rows[0].balance) + amount, token);
    });
  }

  /** Writes nothing if somebody with a higher token has written. */
  async write(account: string, balance: number, token: bigint): Promise<number> {
    const sql = 'UPDATE accounts SET balance = $2, fence = $3 WHERE name = $1 AND fence < $3';
    return (await pool.query(sql, [account, balance, String(token)])).rowCount ?? 0;
  }
}

@Module({
  imports: [
    LockModule.forRoot({
      locks: sqlLocks({ pool, dialect: 'postgres', namespace, replicated: false }),
      ttlMs: 1000,
    }),
  ],
  providers: [Bookings],
})
class BankModule {}

void test('9. a lock', async () => {
  await pool.query(lockTable('postgres'));
  await pool.query('CREATE TABLE accounts (name text PRIMARY KEY, balance int, fence numeric)');
  await pool.query(`INSERT INTO accounts VALUES ('a b|c', 0, 0)`);
  const replicas = [await replica(BankModule), await replica(BankModule)];
  const [one, other] = replicas.map((app) => app.get(Bookings)) as [Bookings, Bookings];
  const booked = Array.from({ length: 10 }, (_, at) => (at % 2 ? one : other).book('a b|c', 1));
  assert.deepEqual(new Set(await Promise.all(booked)), new Set([1]));
  const { rows } = await pool.query('SELECT balance, fence FROM accounts');
  assert.equal(rows[0].balance, 10);
  assert.equal(await one.write('a b|c', 0, BigInt(rows[0].fence) - 1n), 0);
  await Promise.all(replicas.map((app) => app.close()));
});

// Task 10. We have two licenses for a renderer: of all replicas at most two render at once, each
// with a license that nobody else uses meanwhile. Its unit test asks no store.

const LICENSES = ['key-1', 'key-2'];

const render = (locks: DistributedLock, work: (license: string) => Promise<void>): Promise<void> =>
  locks.using('render', { permits: LICENSES.length, waitMs: 60_000 }, ({ permit }) =>
    work(LICENSES[permit - 1]!),
  );

@Module({ imports: [LockModule.forRoot({ locks: redis, ttlMs: 1000 })] })
class RenderModule {}

void test('10. permits', async () => {
  const replicas = [await replica(RenderModule), await replica(RenderModule)];
  const inUse = new Set<string>();
  let most = 0;
  const work = async (license: string): Promise<void> => {
    assert.ok(!inUse.has(license));
    inUse.add(license);
    most = Math.max(most, inUse.size);
    // Long enough for others to come meanwhile.
    await sleep(20);
    inUse.delete(license);
  };
  const rendered = Array.from({ length: 8 }, (_, at) =>
    render(replicas[at % 2]!.get(DistributedLock), work),
  );
  await Promise.all(rendered);
  assert.equal(most, 2);
  await Promise.all(replicas.map((app) => app.close()));
});

@Module({ imports: [LockModule.forRoot({ locks: 'redis://nowhere.invalid' })] })
class UnitModule {}

void test('10. permits, in a unit test', async () => {
  const app = await Test.createTestingModule({ imports: [UnitModule] })
    .overrideProvider(DistributedLock)
    .useValue(new DistributedLock(new MemoryLocks()))
    .compile();
  await app.init();
  const used: string[] = [];
  const work = async (license: string): Promise<void> => void used.push(license);
  await render(app.get(DistributedLock), work);
  assert.ok(LICENSES.includes(used[0]!));
  await app.close();
});

// Task 11. A report is made each second, and there are two replicas: each report once.

const reports: string[] = [];

@Injectable()
class Reports {
  @CronOnce('* * * * * *')
  async make({ tick }: CronRun): Promise<void> {
    reports.push(tick.toISOString());
  }
}

@Module({
  imports: [ScheduleModule.forRoot(), LockModule.forRoot({ locks: redis, ttlMs: 1000 })],
  providers: [Reports],
})
class ReportsModule {}

void test('11. a cron job', async () => {
  const replicas = [await replica(ReportsModule), await replica(ReportsModule)];
  // The wait is the schedule's.
  while (reports.length < 3) await sleep(50);
  await Promise.all(replicas.map((app) => app.close()));
  assert.equal(new Set(reports).size, reports.length);
});

// Task 12. At a shutdown the job in hand ends and still gets its id. Afterwards worker id and lock
// are free, and who asks for an id is told that it is too late.

@Injectable()
class Queue implements OnApplicationShutdown {
  readonly done: string[] = [];
  private job: Promise<void> | undefined;

  constructor(
    private readonly ids: IdMaker,
    private readonly locks: DistributedLock,
  ) {}

  start(end: AbortSignal): void {
    this.job = this.locks.using('queue', { waitMs: 60_000 }, async () => {
      if (!end.aborted) await once(end, 'abort');
      this.done.push(this.ids.nextIdString());
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.job;
    this.done.push(this.ids.nextIdString());
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({ support: redis }),
    LockModule.forRoot({ locks: redis, ttlMs: 1000 }),
  ],
  providers: [Queue],
})
class QueueModule {}

void test('12. a shutdown', async () => {
  const app = await replica(QueueModule);
  app.enableShutdownHooks();
  const [queue, ids] = [app.get(Queue), app.get(IdMaker)];
  const end = new AbortController();
  queue.start(end.signal);
  // The lock is granted when the store is no longer new.
  while (app.get(DistributedLock).status.held.length === 0) await sleep(20);
  const closed = app.close();
  end.abort();
  await closed;
  assert.equal(new Set(queue.done).size, 2);
  assert.throws(
    () => ids.nextId(),
    (error) => isSnowflakeError(error) && error.code === 'NOT_READY',
  );
  const next = await replica(QueueModule);
  await next.get(DistributedLock).using('queue', () => undefined);
  assert.equal(next.get(IdMaker).status.state, 'active');
  await next.close();
});
