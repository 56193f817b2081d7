/**
 * Tasks 5 to 8 of the exam: ids as the keys of tables, in a PostgreSQL (DATABASE_URL).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule, getRepositoryToken } from '@nestjs/typeorm';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { customType, pgTable, text } from 'drizzle-orm/pg-core';
import {
  SnowflakeModule,
  currentIdMaker,
  layouts,
  startSnowflake,
  type BitLayout,
} from 'nestjs-snowflake';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { SnowflakeId, hookDataSource, idText } from 'nestjs-snowflake/typeorm';
import { Pool } from 'pg';
import { Column, DataSource, Entity, JoinColumn, ManyToOne } from 'typeorm';
import type { Relation, Repository } from 'typeorm';

const url = process.env['DATABASE_URL']!;
const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
const pool = new Pool({ connectionString: url });
after(() => pool.end());
Logger.overrideLogger(false);

// Task 5. Customers and orders with TypeORM: keys are filled by the library, and an order refers to
// its customer, by a column that we declare ourselves.

@Entity('customers')
class Customer {
  @SnowflakeId()
  id!: string;

  @Column('text')
  name!: string;
}

@Entity('orders')
class Order {
  @SnowflakeId()
  id!: string;

  @Column({ type: 'bigint', transformer: idText })
  customerId!: string;

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customerId' })
  customer?: Relation<Customer>;
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({ support }),
    TypeOrmModule.forRoot({
      type: 'postgres',
      url,
      entities: [Customer, Order],
      synchronize: true,
    }),
    TypeOrmModule.forFeature([Customer, Order]),
  ],
})
class ShopModule {}

void test('5. entities of TypeORM', async () => {
  const app = await NestFactory.createApplicationContext(ShopModule, { logger: false });
  const customers = app.get<Repository<Customer>>(getRepositoryToken(Customer));
  const orders = app.get<Repository<Order>>(getRepositoryToken(Order));
  const customer = await customers.save({ name: 'Ada' });
  await orders.insert([{ customerId: customer.id }, { customerId: customer.id }]);
  const found = await orders.find({ relations: { customer: true } });
  assert.deepEqual(
    found.map((order) => [order.customerId, order.customer?.name]),
    [
      [customer.id, 'Ada'],
      [customer.id, 'Ada'],
    ],
  );
  const { rows } = await pool.query(
    'SELECT o.id::text AS id, pg_typeof(o.id)::text AS type FROM orders o ORDER BY o.id',
  );
  assert.deepEqual(
    rows,
    found.map(({ id }) => ({ id, type: 'bigint' })).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  await app.close();
});

// Task 6. The same with Drizzle, in a script that fills a table.

const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const notes = pgTable('notes', {
  id: snowflake()
    .primaryKey()
    .$defaultFn(() => currentIdMaker().nextIdString()),
  note: text().notNull(),
});

void test('6. a table of Drizzle', async () => {
  await pool.query('CREATE TABLE notes (id bigint PRIMARY KEY, note text NOT NULL)');
  await using _running = await startSnowflake({ support });
  const db = drizzle(pool);
  const made = await db
    .insert(notes)
    .values([{ note: 'one' }, { note: 'two' }])
    .returning();
  assert.equal(made.length, 2);
  for (const { id, note } of made) {
    assert.ok(BigInt(id) > 2n ** 58n);
    assert.deepEqual(await db.select().from(notes).where(eq(notes.id, id)), [{ id, note }]);
  }
});

// Task 7. All orders of one day, by the primary key alone; and for the support desk: when, and by
// which worker, was the order of this id made?

const layout = layouts.snowflake();

async function ordersOf(of: BitLayout, day: string): Promise<string[]> {
  const [from, to] = [new Date(`${day}T00:00:00.000Z`), new Date(`${day}T23:59:59.999Z`)];
  const { first, last } = of.idRange(from, to);
  const sql = 'SELECT id FROM sales WHERE id BETWEEN $1 AND $2 ORDER BY id';
  const { rows } = await pool.query<{ id: string }>(sql, [String(first), String(last)]);
  return rows.map(({ id }) => id);
}

const aboutOrder = (id: string): string => {
  const { date, workerId } = layout.parse(id);
  return `made at ${date.toISOString()} by worker ${workerId}`;
};

void test('7. ids by time, and the time of an id', async () => {
  await pool.query('CREATE TABLE sales (id bigint PRIMARY KEY)');
  const madeAt = (time: string): string =>
    String(layout.compose({ timestampMs: Date.parse(time), workerId: 7, sequence: 4095 }));
  const times = ['2026-11-20T23:59:59.999Z', '2026-11-21T00:00:00Z', '2026-11-21T23:59:59.999Z'];
  const ids = [...times, '2026-11-22T00:00:00Z'].map(madeAt);
  await pool.query('INSERT INTO sales SELECT unnest($1::bigint[])', [ids]);
  assert.deepEqual(await ordersOf(layout, '2026-11-21'), ids.slice(1, 3));
  assert.equal(aboutOrder(ids[1]!), 'made at 2026-11-21T00:00:00.000Z by worker 7');
});

// Task 8. A table has keys of auto-increment, as int. Let new rows have ids of this library, while
// the old application still writes, and never again a key of the sequence once it has stopped.

@Entity('invoices')
class Invoice {
  @SnowflakeId()
  id!: string;

  @Column('text')
  note!: string;
}

/** Old and new application may both write after this. */
const WIDEN = `
BEGIN;
SET LOCAL lock_timeout = '500ms';
LOCK TABLE invoices IN ACCESS EXCLUSIVE MODE;
ALTER TABLE invoices ALTER COLUMN id TYPE bigint;
COMMIT;`;

/** Only after the last old process has stopped. */
const CLOSE = `
ALTER TABLE invoices ALTER COLUMN id DROP DEFAULT;
DROP SEQUENCE invoices_id_seq;`;

before(async () => {
  await pool.query('CREATE TABLE invoices (id serial PRIMARY KEY, note text NOT NULL)');
});

void test('8. from auto-increment', async () => {
  const asBefore = (): Promise<unknown> => pool.query(`INSERT INTO invoices (note) VALUES ('old')`);
  await asBefore();
  await pool.query(WIDEN);
  await using _running = await startSnowflake({ support });
  const database = hookDataSource(new DataSource({ type: 'postgres', url, entities: [Invoice] }));
  await database.initialize();
  const invoices = database.getRepository(Invoice);
  await invoices.insert({ note: 'new' });
  await asBefore();
  await pool.query(CLOSE);
  await assert.rejects(asBefore());
  await invoices.insert({ note: 'newest' });
  const found = await invoices.find({ order: { id: 'ASC' } });
  assert.deepEqual(
    found.map(({ note }) => note),
    ['old', 'old', 'new', 'newest'],
  );
  await database.destroy();
});
