import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eq, relations, sql } from 'drizzle-orm';
import { bigint, customType, mysqlTable, varchar } from 'drizzle-orm/mysql-core';
import { drizzle, type MySql2Database } from 'drizzle-orm/mysql2';
import { drizzle as overSqljs, type SQLJsDatabase } from 'drizzle-orm/sql-js';
import { customType as sqliteType, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { currentIdMaker, type RunningSnowflake } from 'nestjs-snowflake';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { createPool, type Pool } from 'mysql2/promise';
import { EARLIER_ID, isMade, startGenerator } from '../odd-ids.js';
import { ownDatabase } from '../../own-database.js';

const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const newId = (): string => currentIdMaker().nextIdString();

const customers = mysqlTable('customers', {
  id: snowflake().primaryKey().$defaultFn(newId),
  email: varchar({ length: 99 }).notNull().unique(),
  name: varchar({ length: 99 }).notNull().default(''),
});

const orders = mysqlTable('orders', {
  id: snowflake('order_id').primaryKey().$defaultFn(newId),
  ticket: snowflake({ type: 'varchar' }).notNull().$defaultFn(newId),
  customerId: snowflake().references(() => customers.id),
});

const customersRelations = relations(customers, ({ many }) => ({ orders: many(orders) }));
const ordersRelations = relations(orders, ({ one }) => ({
  customer: one(customers, { fields: [orders.customerId], references: [customers.id] }),
}));

const TABLES = [
  `CREATE TABLE customers (id bigint PRIMARY KEY, email varchar(99) NOT NULL UNIQUE,
    name varchar(99) NOT NULL DEFAULT '')`,
  `CREATE TABLE orders (order_id bigint PRIMARY KEY, ticket varchar(20) NOT NULL,
    customerId bigint REFERENCES customers (id))`,
];

const shop = { customers, orders, customersRelations, ordersRelations };
type Database = MySql2Database<typeof shop>;
type Write = (db: Database) => Promise<unknown>;

let emails = 0;
const newCustomer = () => ({ email: `customer-${emails++}@shop.test` });

/** Every way in which Drizzle inserts rows, with the number of customers that result. */
const FILLED: readonly [title: string, rows: number, write: Write][] = [
  ['insert', 1, async (db) => db.insert(customers).values(newCustomer())],
  ['insert of a list', 3, async (db) => db.insert(customers).values([0, 0, 0].map(newCustomer))],
  [
    'insert of 5,000',
    5000,
    async (db) => db.insert(customers).values(Array.from({ length: 5000 }, newCustomer)),
  ],
  [
    'insert that returns the stored ID',
    1,
    async (db) => {
      const [row] = await db.insert(customers).values(newCustomer()).$returningId();
      expect(await db.select({ id: customers.id }).from(customers)).toEqual([row]);
    },
  ],
  [
    'insert that ignores existing rows',
    2,
    async (db) => {
      const [first, second] = [newCustomer(), newCustomer()];
      await db.insert(customers).values(first);
      await db.insert(customers).ignore().values([first, second]);
    },
  ],
  [
    'upsert that inserts',
    1,
    async (db) =>
      db
        .insert(customers)
        .values(newCustomer())
        .onDuplicateKeyUpdate({ set: { name: 'again' } }),
  ],
  [
    'a transaction',
    1,
    (db) => db.transaction(async (within) => within.insert(customers).values(newCustomer())),
  ],
];

describe('Drizzle on MariaDB', () => {
  let snowflake: RunningSnowflake;
  let url: string;
  let drop: () => Promise<void>;
  let pool: Pool;
  let db: Database;

  const open = (options: object): [Pool, Database] => {
    const opened = createPool({ uri: url, ...options });
    return [opened, drizzle(opened, { schema: shop, mode: 'planetscale' })];
  };

  beforeAll(async () => {
    snowflake = await startGenerator();
    ({ url, drop } = await ownDatabase(process.env['MYSQL_URL']!));
    [pool, db] = open({ supportBigNumbers: true });
    for (const table of TABLES) await pool.query(table);
  });
  afterEach(async () => {
    await pool.query('DELETE FROM orders');
    await pool.query('DELETE FROM customers');
  });
  afterAll(async () => {
    await pool?.end();
    await drop?.();
    await snowflake?.close();
  });

  const stored = async (column = 'id', table = 'customers'): Promise<string[]> => {
    const [rows] = await pool.query(`SELECT CAST(${column} AS char) AS id FROM ${table}`);
    return (rows as { id: string }[]).map(({ id }) => id);
  };

  it.each(FILLED)('fills the ID by %s', async (_title, rows, write) => {
    await write(db);
    const ids = await stored();
    expect([ids.length, ids.filter(isMade).length]).toEqual([rows, rows]);
    expect(new Set(ids).size).toBe(rows);
  });

  it('fills non-key columns, including text columns and columns with another name', async () => {
    await db.insert(orders).values({});
    const [order] = await db.select().from(orders);
    expect([await stored('order_id', 'orders'), await stored('ticket', 'orders')]).toEqual([
      [order?.id],
      [order?.ticket],
    ]);
    expect([order!.id, order!.ticket].every(isMade)).toBe(true);
  });

  it.each([EARLIER_ID, '7', '9223372036854775807'])('keeps the ID %s, and finds it', async (id) => {
    const row = { ...newCustomer(), id };
    await db.insert(customers).values(row);
    expect(await db.select().from(customers).where(eq(customers.id, id))).toMatchObject([row]);
    expect(await stored()).toEqual([id]);
  });

  it('does not change the key if an upsert finds its row', async () => {
    const { email } = newCustomer();
    const upsert = (name: string) =>
      db.insert(customers).values({ email, name }).onDuplicateKeyUpdate({ set: { name } });
    await upsert('first');
    const [id] = await stored();
    await upsert('second');
    expect(await db.select().from(customers)).toEqual([{ id, email, name: 'second' }]);
  });

  it.each([
    ['a number that lost digits', Number(EARLIER_ID)],
    ['a word', 'abc'],
  ])('refuses %s before it is sent', async (_what, wrong) => {
    const id = wrong as string;
    const insert = async () => db.insert(customers).values({ ...newCustomer(), id });
    const select = async () => db.select().from(customers).where(eq(customers.id, id));
    await expect(insert()).rejects.toMatchObject({ code: 'ID_INVALID' });
    await expect(select()).rejects.toMatchObject({ code: 'ID_INVALID' });
    expect(await stored()).toEqual([]);
  });

  describe('the database refuses', () => {
    it('SQL written by hand', async () => {
      const raw = db.execute(sql`INSERT INTO customers (email) VALUES ('raw')`);
      await expect(raw).rejects.toMatchObject({ cause: { code: 'ER_NO_DEFAULT_FOR_FIELD' } });
    });

    it('a query insert, which no column default fills', async () => {
      const insert = async () => db.insert(customers).select(sql`SELECT NULL, 'query', ''`);
      await expect(insert()).rejects.toMatchObject({ cause: { code: 'ER_BAD_NULL_ERROR' } });
    });

    it('the second run of a prepared insert, whose ID was generated only once', async () => {
      const values = { email: sql.placeholder('email') };
      const insert = db.insert(customers).values(values).prepare();
      await insert.execute(newCustomer());
      const second = insert.execute(newCustomer());
      await expect(second).rejects.toMatchObject({ cause: { code: 'ER_DUP_ENTRY' } });
      expect(await stored()).toHaveLength(1);
    });
  });

  it('stores 0 for a manual INSERT IGNORE, which no layer refuses', async () => {
    await db.execute(sql`INSERT IGNORE INTO customers (email) VALUES ('ignored')`);
    expect(await stored()).toEqual(['0']);
  });

  it('refuses an ID that mysql2 reads without supportBigNumbers and with lost digits', async () => {
    await db.insert(customers).values(newCustomer());
    const [lossyPool, lossy] = open({});
    try {
      const read = async () => lossy.select().from(customers);
      await expect(read()).rejects.toMatchObject({ code: 'ID_INVALID' });
      // Drizzle's own column returns the rounded ID without an error.
      const own = mysqlTable('customers', { id: bigint({ mode: 'bigint' }).primaryKey() });
      const [row] = await lossy.select().from(own);
      expect(await stored()).not.toEqual([String(row?.id)]);
    } finally {
      await lossyPool.end();
    }
  });

  it('refuses nested rows of relational queries, which pass through JSON', async () => {
    const [customer] = await db.insert(customers).values(newCustomer()).$returningId();
    const read = () => db.query.customers.findMany({ with: { orders: true } });
    expect(await read()).toMatchObject([{ ...customer, orders: [] }]);
    await db.insert(orders).values({ customerId: customer!.id });
    await expect(read()).rejects.toMatchObject({ code: 'ID_INVALID' });
  });
});

// On SQLite, drivers lose digits of a bigint, so IDs are text.

const sqliteId = sqliteType<SnowflakeColumn>(snowflakeColumn);

const notes = sqliteTable('notes', {
  id: sqliteId({ type: 'varchar' }).primaryKey().notNull().$defaultFn(newId),
  note: text(),
});
/** A table whose ID column loses digits in the driver. */
const lossyNotes = sqliteTable('lossy_notes', { id: sqliteId().primaryKey().$defaultFn(newId) });

describe('Drizzle on SQLite', () => {
  let running: RunningSnowflake;
  let db: SQLJsDatabase;

  beforeAll(async () => {
    running = await startGenerator();
    const start = createRequire(import.meta.url)('sql.js') as () => Promise<{
      Database: new () => Parameters<typeof overSqljs>[0];
    }>;
    const { Database } = await start();
    db = overSqljs(new Database());
    db.run(sql`CREATE TABLE notes (id varchar(20) PRIMARY KEY NOT NULL, note text)`);
    db.run(sql`CREATE TABLE lossy_notes (id bigint PRIMARY KEY NOT NULL)`);
  });
  afterAll(() => running?.close());

  it('fills a text column, and reads the same digits', () => {
    db.insert(notes)
      .values([{}, { id: EARLIER_ID }])
      .run();
    const ids = db
      .select()
      .from(notes)
      .orderBy(notes.id)
      .all()
      .map((row) => row.id);
    expect([ids.filter(isMade).length, ids.includes(EARLIER_ID)]).toEqual([1, true]);
  });

  it('refuses to read a numeric column in which the driver loses digits', () => {
    db.insert(lossyNotes).values({}).run();
    const read = () => db.select().from(lossyNotes).all();
    expect(read).toThrow(expect.objectContaining({ code: 'ID_INVALID' }));
    expect(read).toThrow(/type: 'varchar'/);
  });

  it('does not fill a row of raw SQL, which SQLite refuses if the column is NOT NULL', () => {
    expect(() => db.run(sql`INSERT INTO notes (note) VALUES ('raw')`)).toThrow(
      /NOT NULL constraint failed: notes.id|Failed to run the query/,
    );
  });

  it('refuses a string that is no ID, both on insert and on read', () => {
    const refused = expect.objectContaining({ code: 'ID_INVALID', details: { value: 'abc' } });
    expect(() => db.insert(notes).values({ id: 'abc' }).run()).toThrow(refused);
    db.run(sql`INSERT INTO notes (id) VALUES ('abc')`);
    expect(() => db.select().from(notes).all()).toThrow(refused);
  });
});
