/**
 * The guide from UUID, run on PostgreSQL while an application writes that knows both keys and
 * learns of the switch from the database: no row is lost, twice, without its customer, or out of
 * order.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { layouts, startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import type { PoolClient } from 'pg';
import { printed } from '../../cli/sql/sql-lab.js';
import { MovingShop, blocksOf } from './guide.js';
import { Writers, shopWork, type Work } from './writers.js';

const shop = new MovingShop();
const [
  tables,
  expand,
  number,
  customers,
  orders,
  links,
  close,
  build,
  refer,
  change,
  tidy,
  ...others
] = blocksOf('From UUID');
let snowflake: RunningSnowflake;

beforeAll(async () => {
  await shop.open();
  snowflake = await startSnowflake({ support: 'static:7' });
});

afterAll(async () => {
  await application.stop();
  await snowflake.close();
  await shop.close();
});

/** What the guide says an application sees of the switch. */
const SWITCHED: readonly unknown[] = ['23502', '22P02', '42804'];

const uuidWork = (): Work =>
  shopWork(
    async (client, name) => {
      const sql = 'INSERT INTO customers (name) VALUES ($1) RETURNING id::text';
      return (await client.query<{ id: string }>(sql, [name])).rows[0]!.id;
    },
    (client, customer, note) =>
      client.query('INSERT INTO orders (customer_id, note) VALUES ($1, $2)', [customer, note]),
  );

const idWork = (): Work => {
  const id = () => snowflake.ids.nextIdString();
  return shopWork(
    async (client: PoolClient, name) => {
      const own = id();
      await client.query('INSERT INTO customers (id, name) VALUES ($1, $2)', [own, name]);
      return own;
    },
    (client, customer, note) =>
      client.query('INSERT INTO orders (id, customer_id, note) VALUES ($1, $2, $3)', [
        id(),
        customer,
        note,
      ]),
  );
};

/** Goes on with generated ids from the first statement on that the switch made impossible. */
function workOfBoth(): Work {
  let work = uuidWork();
  return async (writing) => {
    try {
      return await work(writing);
    } catch (error) {
      if (!SWITCHED.includes((error as { code?: unknown }).code)) throw error;
      await writing.client.query('ROLLBACK');
      work = idWork();
      return work(writing);
    }
  };
}

const SEEDED = `
  INSERT INTO customers (created_at, name)
    SELECT timestamptz '2023-11-01' + (n / 3) * interval '5 hours', 'seed-' || n
    FROM generate_series(1, 3000) AS n;
  INSERT INTO orders (created_at, customer_id, note)
    SELECT created_at + interval '1 ms', id, name || '/' || n
    FROM customers, generate_series(1, 3) AS n;
  INSERT INTO orders (created_at, customer_id, note)
    SELECT timestamptz '2026-01-01', id, name || '/crowd-' || n
    FROM (SELECT * FROM customers LIMIT 50) AS few, generate_series(1, 100) AS n`;

const application = new Writers(shop.pool, 'app', Array.from({ length: 4 }, workOfBoth));

describe('from UUID', () => {
  it('the guide loses nothing, doubles nothing and leaves nothing dangling', async () => {
    expect(others).toEqual([]);
    await shop.run(tables!);
    await shop.run(SEEDED);
    application.start();
    await application.more(300);
    await shop.pool.query(await printed(['--worker', '1023']));
    await shop.run(expand!);
    await application.more(300);
    await shop.run(number!);
    for (const step of [customers, orders, links]) {
      await shop.runUntilNoRow(step!);
      await application.more(100);
    }
    await shop.run(close!);
    await application.more(300);
    await shop.run(build!);
    await shop.run(refer!);
    await application.more(300);
    const before = await shop.number('SELECT count(*) FROM customers');
    await shop.run(change!);
    await application.more(1000);
    await application.stop();
    expect(application.errors).toEqual([]);
    expect(await shop.number('SELECT count(*) FROM customers')).toBeGreaterThan(before);

    const { rows } = await shop.pool.query<{ text: string }>(
      `SELECT name AS text FROM customers UNION ALL SELECT note FROM orders`,
    );
    const stored = rows.map(({ text }) => text).filter((text) => !text.startsWith('seed'));
    expect(stored.toSorted()).toEqual(application.acknowledged.toSorted());
    expect(rows.length - stored.length).toBe(3000 + 9000 + 5000);
    expect(await shop.number(DANGLING)).toBe(0);
    expect(await shop.number(SHARED)).toBe(0);
    expect(await shop.number(OUT_OF_ORDER)).toBe(0);
    await isByItsTime();
    await shop.run(tidy!);
    expect(
      await shop.number('SELECT count(*) FROM orders JOIN customers ON customers.id = customer_id'),
    ).toBe(await shop.number('SELECT count(*) FROM orders'));
  });
});

/** The id of an old row has the time of its row, where that is after the epoch. */
async function isByItsTime(): Promise<void> {
  const { rows } = await shop.pool.query<{ id: string; created_at: Date }>(
    `SELECT id, created_at FROM customers
     WHERE name LIKE 'seed%' AND created_at > '2024-01-02' LIMIT 100`,
  );
  const layout = layouts.snowflake();
  expect(rows).toHaveLength(100);
  expect(rows.map(({ id }) => layout.parse(id).workerId)).toEqual(rows.map(() => 1022));
  expect(rows.map(({ id }) => layout.parse(id).date)).toEqual(rows.map((row) => row.created_at));
}

/** Orders of another customer than the one that their note names. */
const DANGLING = `SELECT count(*) FROM orders LEFT JOIN customers ON customers.id = customer_id
  WHERE note NOT LIKE name || '/%' OR name IS NULL`;

/** Ids that are a customer's and an order's. */
const SHARED = `SELECT count(*) FROM orders JOIN customers ON customers.id = orders.id`;

/** Neighbours by id of which the later one is the older row, of those that were there. */
const OUT_OF_ORDER = `SELECT count(*) FROM (
    SELECT created_at, lag(created_at) OVER (ORDER BY id) AS earlier
    FROM (
      SELECT id, created_at, note FROM orders
      UNION ALL
      SELECT id, created_at, name FROM customers
    ) AS everything
    WHERE note LIKE 'seed%'
  ) AS pairs
  WHERE created_at < earlier`;
