/**
 * Tasks 13 to 16 of the exam: numbers of a counter, numbers without a gap, ids made in Redis, and
 * all of it in a store of one's own.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { Injectable, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IdMaker, startSnowflake } from 'nestjs-snowflake';
import { DistributedLock } from 'nestjs-snowflake/lock';
import { startRedisIds } from 'nestjs-snowflake/redis-ids';
import { SegmentsModule, series, startSegments } from 'nestjs-snowflake/segments';
import { counterTable, gaplessSeries, seriesTable, sqlCounters } from 'nestjs-snowflake/sql';
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
import { Pool } from 'pg';
import { DataSource } from 'typeorm';

const url = process.env['DATABASE_URL']!;
const namespace = randomUUID();
const pool = new Pool({ connectionString: url });
after(() => pool.end());
Logger.overrideLogger(false);

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
  await pool.query(counterTable('postgres'));
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
