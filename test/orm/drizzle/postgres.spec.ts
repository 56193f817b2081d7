import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { and, between, eq, gt, inArray, isNotNull, sql, type SQL } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { parseJson, type RunningSnowflake } from 'nestjs-snowflake';
import pg from 'pg';
import { EARLIER_ID, isMade, startGenerator } from '../odd-ids.js';
import { ownDatabase } from '../../own-database.js';
import * as shop from './postgres-shop.js';
import { run } from '../../package/command.js';
import { madeOnce } from '../../support/made-once.mjs';
import { ROOT } from '../../tidy/tree.js';

const { customers, orders } = shop;
type Database = NodePgDatabase<typeof shop>;
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
    'insert of a row whose ID is undefined',
    1,
    async (db) => db.insert(customers).values({ ...newCustomer(), id: undefined }),
  ],
  [
    'insert that returns the stored ID',
    1,
    async (db) => {
      const [row] = await db.insert(customers).values(newCustomer()).returning();
      expect(await db.select().from(customers)).toEqual([row]);
    },
  ],
  [
    'insert that skips existing rows',
    2,
    async (db) => {
      const [first, second] = [newCustomer(), newCustomer()];
      await db.insert(customers).values(first);
      await db.insert(customers).values([first, second]).onConflictDoNothing();
    },
  ],
  [
    'upsert that inserts',
    1,
    async (db) => {
      const conflict = { target: customers.email, set: { name: 'again' } };
      await db.insert(customers).values(newCustomer()).onConflictDoUpdate(conflict);
    },
  ],
  [
    'a transaction within a transaction',
    2,
    (db) =>
      db.transaction(async (outer) => {
        await outer.insert(customers).values(newCustomer());
        await outer.transaction((inner) => inner.insert(customers).values(newCustomer()));
      }),
  ],
  [
    'a prepared insert that runs once',
    1,
    async (db) => db.insert(customers).values(newCustomer()).prepare('once').execute(),
  ],
];

describe('Drizzle on PostgreSQL', () => {
  let snowflake: RunningSnowflake;
  let pool: pg.Pool;
  let db: Database;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    snowflake = await startGenerator();
    const database = await ownDatabase(process.env['DATABASE_URL']!);
    drop = database.drop;
    pool = new pg.Pool({ connectionString: database.url });
    db = drizzle(pool, { schema: shop });
    for (const table of shop.TABLES) await pool.query(table);
  });
  afterEach(() => pool.query('TRUNCATE customers, orders'));
  afterAll(async () => {
    await pool?.end();
    await drop?.();
    await snowflake?.close();
  });

  const stored = async (column = 'id', table = 'customers'): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>(`SELECT ${column}::text AS id FROM ${table}`);
    return rows.map(({ id }) => id);
  };

  it.each(FILLED)('fills the ID by %s', async (_title, rows, write) => {
    await write(db);
    const ids = await stored();
    expect([ids.length, ids.filter(isMade).length]).toEqual([rows, rows]);
    expect(new Set(ids).size).toBe(rows);
  });

  it('fills non-key columns, including text columns and columns with another name', async () => {
    const [order] = await db.insert(orders).values({}).returning();
    expect([await stored('order_id', 'orders'), await stored('ticket', 'orders')]).toEqual([
      [order?.id],
      [order?.ticket],
    ]);
    expect([order!.id, order!.ticket].every(isMade)).toBe(true);
  });

  it.each([EARLIER_ID, '0', '9223372036854775807'])('keeps the ID %s', async (id) => {
    const [row] = await db
      .insert(customers)
      .values({ ...newCustomer(), id })
      .returning();
    expect(row?.id).toBe(id);
    expect(await stored()).toEqual([id]);
  });

  it('does not change the key if an upsert finds its row', async () => {
    const { email } = newCustomer();
    const upsert = async (name: string) => {
      const conflict = { target: customers.email, set: { name } };
      await db.insert(customers).values({ email, name }).onConflictDoUpdate(conflict);
    };
    await upsert('first');
    const ids = await stored();
    await upsert('second');
    expect(await db.select().from(customers)).toMatchObject([{ id: ids[0], name: 'second' }]);
  });

  it('changes the key if an upsert sets it, so the upsert has to name its columns', async () => {
    const { email } = newCustomer();
    await db.insert(customers).values({ email });
    const [before] = await stored();
    const set = { id: sql`excluded.id` };
    await db
      .insert(customers)
      .values({ email })
      .onConflictDoUpdate({ target: customers.email, set });
    expect(await stored()).not.toEqual([before]);
  });

  it('finds rows by IDs as strings', async () => {
    const rows = await db.insert(customers).values([0, 0, 0].map(newCustomer)).returning();
    const [first, second, third] = rows.map(({ id }) => id) as [string, string, string];
    const { id } = customers;
    const found = async (where: SQL | undefined) =>
      (await db.select().from(customers).where(where).orderBy(id)).map((row) => row.id);
    expect(await found(eq(id, second))).toEqual([second]);
    expect(await found(inArray(id, [first, third]))).toEqual([first, third]);
    expect(await found(and(between(id, first, third), gt(id, first)))).toEqual([second, third]);
    expect(await found(isNotNull(id))).toEqual([first, second, third]);
  });

  describe('refuses before anything is sent', () => {
    it.each([
      ['a number that lost digits', Number(EARLIER_ID)],
      ['a word', 'abc'],
      ['an empty string', ''],
      ['a negative number', '-1'],
      ['leading zeros', '007'],
      ['a value that is too large', '9223372036854775808'],
      ['an object', {}],
    ])('%s', async (_what, wrong) => {
      const id = wrong as string;
      const refusal = { code: 'ID_INVALID', details: { value: wrong } };
      const calls: (() => Promise<unknown>)[] = [
        async () => db.insert(customers).values({ ...newCustomer(), id }),
        async () => db.select().from(customers).where(eq(customers.id, id)),
        async () => db.update(orders).set({ customerId: id }),
        async () => db.delete(customers).where(inArray(customers.id, [EARLIER_ID, id])),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject(refusal);
      expect(await stored()).toEqual([]);
    });

    it('a row while no generator is running', async () => {
      await snowflake.close();
      const insert = async () => db.insert(customers).values(newCustomer());
      await expect(insert()).rejects.toMatchObject({ code: 'NOT_READY' });
      snowflake = await startGenerator();
      expect(await stored()).toEqual([]);
    });
  });

  describe('the database refuses', () => {
    const NULL_KEY = { cause: { code: '23502' } };

    it('SQL written by hand', async () => {
      const raw = db.execute(sql`INSERT INTO customers (email) VALUES ('raw')`);
      await expect(raw).rejects.toMatchObject(NULL_KEY);
    });

    it('a query insert, which no column default fills', async () => {
      const query = sql`SELECT NULL::bigint, 'from a query', ''`;
      const insert = async () => db.insert(customers).select(query);
      await expect(insert()).rejects.toMatchObject(NULL_KEY);
    });

    it('the second run of a prepared insert, whose ID was generated only once', async () => {
      const values = { email: sql.placeholder('email') };
      const insert = db.insert(customers).values(values).prepare('twice');
      await insert.execute(newCustomer());
      const DUPLICATE_KEY = { cause: { code: '23505', constraint: 'customers_pkey' } };
      await expect(insert.execute(newCustomer())).rejects.toMatchObject(DUPLICATE_KEY);
      expect(await stored()).toHaveLength(1);
    });

    it('unless the ID of a prepared insert is a placeholder', async () => {
      const values = { id: sql.placeholder('id'), email: sql.placeholder('email') };
      const insert = db.insert(customers).values(values).prepare('placeholder');
      for (const _ of [1, 2]) {
        await insert.execute({ ...newCustomer(), id: snowflake.ids.nextIdString() });
      }
      expect((await stored()).filter(isMade)).toHaveLength(2);
    });
  });

  describe('relational queries, whose nested rows pass through JSON', () => {
    const read = () => db.query.customers.findMany({ with: { orders: true } });
    const JSON_TYPE = 114;

    const write = async (): Promise<unknown> => {
      const [customer] = await db.insert(customers).values(newCustomer()).returning();
      const [order] = await db.insert(orders).values({ customerId: customer!.id }).returning();
      return [{ ...customer, orders: [order] }];
    };

    it('are refused, because pg reads JSON as numbers', async () => {
      await write();
      await expect(read()).rejects.toMatchObject({ code: 'ID_INVALID' });
    });

    it('are exact if pg reads JSON with parseJson', async () => {
      const expected = await write();
      const usual: unknown = pg.types.getTypeParser(JSON_TYPE, 'text');
      pg.types.setTypeParser(JSON_TYPE, parseJson);
      try {
        expect(await read()).toEqual(expected);
      } finally {
        pg.types.setTypeParser(JSON_TYPE, usual as (text: string) => unknown);
      }
    });
  });

  it('refuses an ID that pg is configured to read as a number', async () => {
    await db.insert(customers).values(newCustomer());
    const BIGINT = 20;
    const usual: unknown = pg.types.getTypeParser(BIGINT, 'text');
    pg.types.setTypeParser(BIGINT, Number);
    try {
      const read = async () => db.select().from(customers);
      await expect(read()).rejects.toMatchObject({ code: 'ID_INVALID' });
    } finally {
      pg.types.setTypeParser(BIGINT, usual as (text: string) => unknown);
    }
  });
});

// drizzle-kit creates the tables on PostgreSQL and then finds nothing to change. Its result for
// MySQL omits changes, so a test there would prove nothing.
//
// This test installs it once, because its packages cause warnings of npm.
describe('drizzle-kit', () => {
  const KIT = 'test/orm/drizzle/kit';
  const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

  interface Push {
    readonly statementsToExecute: string[];
  }

  interface Kit {
    pushSchema(tables: object, database: object): Promise<Push>;
  }

  let kit: Kit;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const folder = await madeOnce('drizzle-kit', [KIT], async (made) => {
      await cp(`${ROOT}/${KIT}`, made, { recursive: true });
      await run(made, 'npm', ...INSTALL);
    });
    kit = createRequire(`${folder}/package.json`)('drizzle-kit/api') as Kit;
  }, 600_000);
  afterAll(async () => {
    for (const close of closing) await close();
  });

  it('on PostgreSQL: creates the declared tables, and then finds no change', async () => {
    const { url, drop } = await ownDatabase(process.env['DATABASE_URL']!);
    const pool = new pg.Pool({ connectionString: url });
    closing.push(() => pool.end(), drop);
    const db = drizzle(pool);
    const { statementsToExecute } = await kit.pushSchema({ customers, orders }, db);
    expect(statementsToExecute.join()).toContain('"order_id" bigint PRIMARY KEY NOT NULL');
    expect(statementsToExecute.join()).toContain('"ticket" varchar(20) NOT NULL');
    for (const statement of statementsToExecute) await db.execute(sql.raw(statement));
    const again = await kit.pushSchema({ customers, orders }, db);
    expect(again.statementsToExecute).toEqual([]);
    await db.execute(sql`ALTER TABLE orders ALTER ticket TYPE text`);
    const changed = await kit.pushSchema({ customers, orders }, db);
    expect(changed.statementsToExecute.join()).toContain('varchar(20)');
  });
});
