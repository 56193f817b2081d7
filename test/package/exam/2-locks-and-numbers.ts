/**
 * Tasks 9 to 16 of the exam, in one file: work that several replicas share, with locks in a
 * PostgreSQL (DATABASE_URL) and in a Redis (REDIS_URL); numbers of a counter, numbers without a
 * gap, ids made in Redis, and all of it in a store of one's own.
 */
import assert from 'node:assert/strict';
import { randomUUID, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type OnApplicationShutdown, type Type, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  MemoryLocks,
  SnowflakeModule,
  isSnowflakeError,
  startSnowflake,
} from 'nestjs-snowflake';
import {
  CronOnce,
  DistributedLock,
  LockModule,
  lockKey,
  type CronRun,
} from 'nestjs-snowflake/lock';
import {
  registryTable,
  sqlLocks,
  gaplessSeries,
  seriesTable,
  sqlCounters,
} from 'nestjs-snowflake/sql';
import { Pool } from 'pg';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startRedisIds } from 'nestjs-snowflake/redis-ids';
import { SegmentsModule, series, startSegments } from 'nestjs-snowflake/segments';
import {
  HEADER_KEY,
  RegistrySupport,
  RowCounters,
  RowLocks,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from 'nestjs-snowflake/store';
import { DataSource } from 'typeorm';

const namespace = randomUUID();
const redis = `${process.env['REDIS_URL']}?namespace=${namespace}`;
const url = process.env['DATABASE_URL']!;
const pool = new Pool({ connectionString: url });
after(() => pool.end());
Logger.overrideLogger(false);

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
    const sql = 'UPDATE accounts SET balance = $2, fence = $3 WHERE name = $1 AND fence <= $3';
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
  await pool.query(registryTable('postgres'));
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
  imports: [LockModule.forRoot({ locks: redis, ttlMs: 1000 })],
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

// Task 13. Customers get short numbers, 1, 2, 3 and so on, as JavaScript numbers; orders are called
// ORD-20261126-0001, with a number that begins again each day in Shanghai. We have a PostgreSQL
// without a standby.

const counters = sqlCounters({ pool, dialect: 'postgres', namespace, replicated: false });

@Injectable()
class Customers {
  constructor(private readonly ids: IdMaker) {}

  newNumber(): number {
    return this.ids.nextIdNumber();
  }
}

@Module({
  imports: [SegmentsModule.forRoot({ store: counters, counter: 'customer' })],
  providers: [Customers],
})
class CustomersModule {}

const orders = series({
  store: counters,
  name: 'order',
  period: 'day',
  timeZone: 'Asia/Shanghai',
  form: 'ORD-{date}-{0000}',
});

void test('13. numbers of a counter, and order numbers', async () => {
  await pool.query(registryTable('postgres'));
  const store = `${url}?namespace=${namespace}&replicated=false`;
  const create = ['counters', 'create', 'customer', '--start', '1', '--yes', '--support', store];
  await promisify(execFile)(process.execPath, ['node_modules/.bin/snowflake', ...create]);
  const app = await NestFactory.createApplicationContext(CustomersModule, { logger: false });
  const customers = app.get(Customers);
  assert.deepEqual(
    [1, 2, 3],
    [1, 2, 3].map(() => customers.newNumber()),
  );
  await app.close();

  const texts = [await orders.next(), await orders.next()];
  const { period, number } = orders.parse(texts[1]!);
  assert.deepEqual(texts, [`ORD-${period}-0001`, `ORD-${period}-0002`]);
  assert.equal(number, 2);
});

// Task 14. Invoices are called R-2026-00001; the law wants no gap, also where a transaction is
// rolled back.

const invoices = gaplessSeries({
  name: 'invoice',
  period: 'year',
  timeZone: 'Europe/Berlin',
  form: 'R-{date}-{00000}',
});

const book = (database: DataSource, isPaid: boolean): Promise<string> =>
  database.transaction(async (manager) => {
    const text = await invoices.nextIn(manager);
    if (!isPaid) throw new Error('The customer cannot pay');
    await manager.query('INSERT INTO booked (number) VALUES ($1)', [text]);
    return text;
  });

void test('14. numbers without a gap', async () => {
  await pool.query(seriesTable('postgres'));
  await pool.query('CREATE TABLE booked (number text PRIMARY KEY)');
  const database = await new DataSource({ type: 'postgres', url }).initialize();
  const isPaid = [true, false, true, true, false, true];
  await Promise.allSettled(isPaid.map((paid) => book(database, paid)));
  const { rows } = await pool.query<{ number: string }>('SELECT number FROM booked ORDER BY 1');
  const numbers = rows.map((row) => invoices.parse(row.number).number);
  assert.deepEqual(numbers, [1, 2, 3, 4]);
  await database.destroy();
});

// Task 15. Ids of events have to rise strictly over all processes, and no process may have a worker
// id. An import takes a thousand at once.

void test('15. ids made in Redis', async () => {
  const redis = `${process.env['REDIS_URL']}?namespace=${namespace}`;
  const options = { redis, tag: 'event', lossWindowMs: 500 };
  await using one = await startRedisIds(options);
  await using other = await startRedisIds(options);
  const ids: bigint[] = [];
  for (let turn = 0; turn < 5; turn++) {
    ids.push(await one.ids.nextIdAsync(), await other.ids.nextIdAsync());
  }
  ids.push(...(await one.ids.nextIdsAsync(1000)), await other.ids.nextIdAsync());
  assert.ok(ids.every((id, at) => at === 0 || id > ids[at - 1]!));
  assert.equal(ids.length, 1011);
});

// Task 16. We have a store that the library does not know, which can compare and swap. Keep worker
// ids, counters and locks there.

/** What our store has: rows by key, its clock, and a name that changes when it has lost data. */
class OurStore {
  readonly rows = new Map<string, StoredRow>();
  readonly name = randomUUID();
  readonly now = (): number => Date.now();
}

class RowsInOurStore implements RowStore {
  readonly location = 'our store';
  readonly lossWindowMs = 0;

  constructor(private readonly store: OurStore) {}

  read(): Promise<RowSnapshot> {
    return this.readAll();
  }

  async readAll(): Promise<RowSnapshot> {
    const { rows, name } = this.store;
    return { timeMs: this.store.now(), server: name, rows: [...rows.values()] };
  }

  async write({ server, headerVersion, header, rows }: RowWrite): Promise<boolean> {
    const versionOf = (key: string) => this.store.rows.get(key)?.version;
    if (server !== this.store.name || headerVersion !== versionOf(HEADER_KEY)) return false;
    if (rows.some(({ row, version }) => version !== versionOf(row.key))) return false;
    for (const row of [...(header ? [header] : []), ...rows.map((change) => change.row)]) {
      const version = (versionOf(row.key) ?? randomInt(2 ** 40)) + 1;
      this.store.rows.set(row.key, { ...row, version });
    }
    return true;
  }

  async sweep(below: bigint): Promise<boolean> {
    for (const { key, number } of this.store.rows.values()) {
      if (number < below) this.store.rows.delete(key);
    }
    return false;
  }
}

void test('16. a store of our own', async () => {
  const [ids, numbers, locks] = [new OurStore(), new OurStore(), new OurStore()];
  const start = () => startSnowflake({ support: new RegistrySupport(new RowsInOurStore(ids)) });
  await using one = await start();
  await using other = await start();
  assert.notEqual(one.ids.parse(one.ids.nextId()).workerId, other.ids.status.workerId);

  const store = new RowCounters(new RowsInOurStore(numbers));
  await store.create({ counter: 'order', start: 1n });
  await using segments = await startSegments({ store, counter: 'order' });
  assert.equal(segments.ids.nextId(), 1n);

  const lock = (): DistributedLock =>
    new DistributedLock(new RowLocks(new RowsInOurStore(locks)), { ttlMs: 500 });
  const [mine, theirs] = [lock(), lock()];
  const held = await mine.acquire('order:7', { waitMs: 60_000 });
  assert.equal(await theirs.tryAcquire('order:7'), undefined);
  await held.release();
  const next = await theirs.acquire('order:7');
  assert.ok(next.token > held.token);
  await next.release();
  await Promise.all([mine.close(), theirs.close()]);
});
