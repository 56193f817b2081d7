/**
 * The guide from auto-increment, run on PostgreSQL while an old application writes, and then an old
 * and a new one: no row is lost, twice, or without its customer.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import type { PoolClient } from 'pg';
import { MovingShop, blocksOf } from './guide.js';
import { Writers, shopWork } from './writers.js';

const shop = new MovingShop();
const [tables, widen, finish, ...others] = blocksOf('From auto-increment');
let snowflake: RunningSnowflake;

beforeAll(async () => {
  await shop.open();
  snowflake = await startSnowflake({ support: 'static:7' });
});

afterAll(async () => {
  await Promise.all([old.stop(), young.stop()]);
  await snowflake.close();
  await shop.close();
});

const idOf = async (client: PoolClient, sql: string, values: readonly unknown[]) =>
  String((await client.query<{ id: unknown }>(`${sql} RETURNING id`, [...values])).rows[0]!.id);

/** Leaves the id to the database. */
const oldWork = () =>
  shopWork(
    (client, name) => idOf(client, 'INSERT INTO customers (name) VALUES ($1)', [name]),
    (client, customer, note) =>
      idOf(client, 'INSERT INTO orders (customer_id, note) VALUES ($1, $2)', [customer, note]),
  );

const newWork = () => {
  const id = () => snowflake.ids.nextIdString();
  return shopWork(
    (client, name) =>
      idOf(client, 'INSERT INTO customers (id, name) VALUES ($1, $2)', [id(), name]),
    (client, customer, note) =>
      idOf(client, 'INSERT INTO orders (id, customer_id, note) VALUES ($1, $2, $3)', [
        id(),
        customer,
        note,
      ]),
  );
};

const old = new Writers(shop.pool, 'old', [oldWork(), oldWork(), oldWork()]);
const young = new Writers(shop.pool, 'new', [newWork(), newWork()]);

describe('from auto-increment', () => {
  it('the guide loses nothing, doubles nothing and leaves nothing dangling', async () => {
    expect(others).toEqual([]);
    await shop.run(tables!);
    await shop.run(`
      INSERT INTO customers (name) SELECT 'seed-' || n FROM generate_series(1, 3000) AS n;
      INSERT INTO orders (customer_id, note)
        SELECT 1 + n % 3000, 'seed-' || 1 + n % 3000 || '/' || n
        FROM generate_series(1, 9000) AS n`);
    old.start();
    await old.more(300);
    await shop.run(widen!);
    await old.more(300);
    young.start();
    await Promise.all([old.more(300), young.more(300)]);
    await old.stop();
    await shop.run(finish!);
    await young.more(300);
    await young.stop();
    expect([old.errors, young.errors]).toEqual([[], []]);

    const { rows } = await shop.pool.query<{ text: string }>(
      `SELECT name AS text FROM customers UNION ALL SELECT note FROM orders`,
    );
    const stored = rows.map(({ text }) => text).filter((text) => !text.startsWith('seed'));
    const acknowledged = [...old.acknowledged, ...young.acknowledged];
    expect(stored.toSorted()).toEqual(acknowledged.toSorted());
    expect(rows.length - stored.length).toBe(12_000);
    expect(await shop.number(DANGLING)).toBe(0);
    expect(await shop.number(OLD_AMONG_NEW)).toBe(0);
    await expect(shop.run(`INSERT INTO customers (name) VALUES ('none')`)).rejects.toThrow(/null/);
  });
});

/** Orders of another customer than the one that their note names. */
const DANGLING = `SELECT count(*) FROM orders LEFT JOIN customers ON customers.id = customer_id
  WHERE note NOT LIKE name || '/%' OR name IS NULL`;

const OLD_AMONG_NEW = `SELECT count(*) FROM customers
  WHERE name NOT LIKE 'new%' AND id >= (SELECT min(id) FROM customers WHERE name LIKE 'new%')`;
