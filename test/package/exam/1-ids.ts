/**
 * Tasks 1 to 8 of the exam, in one file: what a newcomer does with the package on the first day,
 * and ids as the keys of tables, in a PostgreSQL (DATABASE_URL). Each task is given in the words of
 * a developer, solved by what the documents of the package say, and tried.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { test, after, before } from 'node:test';
import { promisify } from 'node:util';
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  Post,
  ValidationPipe,
  type Type,
  Logger,
} from '@nestjs/common';
import { APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  SnowflakeModule,
  layouts,
  currentIdMaker,
  startSnowflake,
  type BitLayout,
} from 'nestjs-snowflake';
import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
import { ParseSnowflakePipe, SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
import { fakeIdMaker } from 'nestjs-snowflake/testing';
import { TypeOrmModule, getRepositoryToken } from '@nestjs/typeorm';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { customType, pgTable, text } from 'drizzle-orm/pg-core';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { SnowflakeId, hookDataSource, idText } from 'nestjs-snowflake/typeorm';
import { Pool } from 'pg';
import {
  Column,
  DataSource,
  Entity,
  JoinColumn,
  ManyToOne,
  type Relation,
  type Repository,
} from 'typeorm';

/** Starts an application, asks it, and ends it. */
async function whileServed(module: Type, ask: (url: string) => Promise<void>): Promise<void> {
  const app = await NestFactory.create(module, { logger: false });
  app.useGlobalPipes(new ValidationPipe());
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  try {
    await ask(await app.getUrl());
  } finally {
    await app.close();
  }
}

// Task 1. Install the package: GET /orders/id answers a new id. The variable SNOWFLAKE_SUPPORT
// names the store, and when the application has ended its worker id is free again.

@Injectable()
class Orders {
  constructor(private readonly ids: IdMaker) {}

  create(note: string): { id: string; note: string } {
    return { id: this.ids.nextIdString(), note };
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Get('id')
  newId(): string {
    return this.orders.create('').id;
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRootAsync({
      useFactory: () => ({ support: process.env['SNOWFLAKE_SUPPORT'] }),
    }),
  ],
  controllers: [OrdersController],
  providers: [Orders],
})
class ShopModule {}

void test('1. install', async () => {
  const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  process.env['SNOWFLAKE_SUPPORT'] = support;
  const workers = async (): Promise<string> => {
    const args = ['node_modules/.bin/snowflake', 'workers', '--support', support];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
  await whileServed(ShopModule, async (url) => {
    const asked = [1, 2, 3].map(() => fetch(`${url}/orders/id`).then((answer) => answer.text()));
    const ids = await Promise.all(asked);
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.match(id, /^\d{18,19}$/);
    assert.match(await workers(), /\b1 held\b/);
  });
  assert.match(await workers(), /\b0 held\b/);
});

// Task 2. A unit test of Orders, and one of the application, in which ids are the same in each run
// and no store is asked. Another test needs an id that was made on 2026-01-01.

void test('2. unit tests', async () => {
  assert.deepEqual(new Orders(fakeIdMaker()).create('tea'), { id: '1', note: 'tea' });

  const timestampMs = Date.parse('2026-01-01T00:00:00Z');
  const from = layouts.snowflake().compose({ timestampMs, workerId: 1 });
  const { id } = new Orders(fakeIdMaker({ from })).create('tea');
  assert.equal(layouts.snowflake().parse(id).date.toISOString(), '2026-01-01T00:00:00.000Z');

  process.env['SNOWFLAKE_SUPPORT'] = 'redis://nowhere.invalid';
  const app = await Test.createTestingModule({ imports: [ShopModule] })
    .overrideProvider(IdMaker)
    .useValue(fakeIdMaker())
    .compile();
  await app.init();
  const made = [app.get(Orders).create('tea'), app.get(Orders).create('milk')];
  assert.deepEqual(
    made.map((order) => order.id),
    ['1', '2'],
  );
  await app.close();
});

// Task 3. POST /parcels takes the id of an order, and GET /parcels/:id an id in the path. What is
// not an id, or is a JSON number, is answered with 400 and not with 500.

class CreateParcel {
  @IsSnowflakeId()
  orderId!: string;
}

@Controller('parcels')
class ParcelsController {
  @Post()
  create(@Body() { orderId }: CreateParcel): { orderId: string } {
    return { orderId };
  }

  @Get(':id')
  find(@Param('id', ParseSnowflakePipe) id: bigint): { next: string } {
    return { next: String(id + 1n) };
  }
}

@Module({ controllers: [ParcelsController] })
class ParcelsModule {}

void test('3. a DTO with validation', async () => {
  await whileServed(ParcelsModule, async (url) => {
    const post = async (orderId: unknown) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ orderId });
      const answer = await fetch(`${url}/parcels`, { method: 'POST', headers, body });
      return [answer.status, ((await answer.json()) as { orderId?: string }).orderId];
    };
    assert.deepEqual(await post('382366441078288385'), [201, '382366441078288385']);
    for (const wrong of [382366441078, 'seven', '007', '-1', '9223372036854775808', null]) {
      assert.deepEqual(await post(wrong), [400, undefined], `${wrong}`);
    }
    const found = await fetch(`${url}/parcels/382366441078288384`);
    assert.deepEqual(await found.json(), { next: '382366441078288385' });
    assert.equal((await fetch(`${url}/parcels/seven`)).status, 400);
  });
});

// Task 4. Our rows come from Prisma, whose ids are bigint. Answers have to keep every digit of
// them, at any depth, without a change of each controller.

@Controller('carts')
class CartsController {
  @Get()
  all() {
    const [id, itemId] = [382366441078288384n, 382366441078288385n];
    return [{ id, items: [{ id: itemId, count: 2 }], madeAt: new Date(0) }];
  }
}

@Module({
  controllers: [CartsController],
  providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }],
})
class CartsModule {}

void test('4. ids in JSON', async () => {
  await whileServed(CartsModule, async (url) => {
    assert.deepEqual(await (await fetch(`${url}/carts`)).json(), [
      {
        id: '382366441078288384',
        items: [{ id: '382366441078288385', count: 2 }],
        madeAt: '1970-01-01T00:00:00.000Z',
      },
    ]);
  });
});

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
class OrdersModule {}

void test('5. entities of TypeORM', async () => {
  const app = await NestFactory.createApplicationContext(OrdersModule, { logger: false });
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
