/**
 * Reads 200 rows of a bulk insert by `Number(id)`, with every library. A number holds only one in
 * 64 consecutive IDs. For the others, the read is refused or finds another row. The first lines of
 * the guide name each library that finds another row, and `@ts-expect-error` marks the reads that
 * the compiler refuses.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { eq, sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { customType, pgTable } from 'drizzle-orm/pg-core';
import knex from 'knex';
import { Kysely, MysqlDialect, PostgresDialect } from 'kysely';
import mariadb from 'mariadb';
import mongoose from 'mongoose';
import mysqlCallbacks from 'mysql2';
import mysql from 'mysql2/promise';
import type { RowDataPacket } from 'mysql2/promise';
import { startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { snowflakeIds } from 'nestjs-snowflake/prisma';
import { hookDataSource, SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Model } from 'objection';
import pg from 'pg';
import postgres from 'postgres';
import { DataTypes, Model as SequelizeModel, Sequelize } from 'sequelize';
import { DataSource, Entity, type DataSourceOptions } from 'typeorm';
import { ROOT } from '../tidy/tree.js';
import { openClient, openDatabase as openShop, type Major } from './prisma/support/shop.js';
import { openDatabase, type Database, type Kind } from './recipes/support/describe-recipe.js';
import { MikroId } from './recipes/support/mikro-id.js';

const ROWS = 200;

type Row = Readonly<Record<string, unknown>> | object | null | undefined;
type Verdict = 'refused' | 'not refused';

interface Reader {
  /** Each function reads a row by a number. */
  readonly ways: Readonly<Record<string, (id: number) => Promise<Row> | Row>>;
  close(): unknown;
  /** The IDs of the reader's own rows, if it does not read the shared rows. */
  readonly ids?: readonly string[];
}

interface Library {
  readonly name: string;
  readonly verdicts: Readonly<Record<string, Verdict>>;
  open(urls: Readonly<Record<Kind, string>>, ids: readonly string[]): Promise<Reader> | Reader;
}

const READ = 'SELECT id FROM orders WHERE id = ';

@Entity('orders')
class TypeormOrder {
  @SnowflakeId()
  id!: string;
}

const mikroOrder = new EntitySchema<{ id: string }>({
  name: 'Order',
  tableName: 'orders',
  properties: { id: { type: new MikroId(), primary: true } },
});

const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const drizzleOrders = pgTable('orders', { id: snowflake().primaryKey() });

class ObjectionOrder extends Model {
  static override tableName = 'orders';
  id!: string;
}

class SequelizeOrder extends SequelizeModel {
  declare id: string;
}

interface Tables {
  orders: { id: string };
}

const kyselyReader = (db: Kysely<Tables>): Reader => ({
  ways: {
    where: (id) =>
      db
        .selectFrom('orders')
        .select('id')
        // @ts-expect-error a number is not exact
        .where('id', '=', id)
        .executeTakeFirst(),
  },
  close: () => db.destroy(),
});

const prisma = (major: Major): Library => ({
  name: `Prisma ${major}`,
  verdicts: { findUnique: 'refused', $queryRaw: 'refused' },
  async open() {
    const database = await openShop('postgresql');
    const plain = await openClient(major, database);
    const shop = plain.$extends(snowflakeIds());
    await shop.order.createMany({ data: Array.from({ length: ROWS }, () => ({})) });
    return {
      ids: await database.idsIn('shop_order', 'id'),
      ways: {
        findUnique: (id) => shop.order.findUnique({ where: { id } }),
        $queryRaw: async (id) =>
          (await shop.$queryRaw`SELECT id FROM shop_order WHERE id = ${id}`)[0],
      },
      async close() {
        await plain.$disconnect();
        await database.drop();
      },
    };
  },
});

const LIBRARIES: readonly Library[] = [
  prisma(6),
  prisma(7),
  {
    name: 'TypeORM',
    verdicts: { find: 'refused', where: 'refused', whereInIds: 'refused', query: 'refused' },
    async open({ postgres: url }) {
      const options = { type: 'postgres', url, entities: [TypeormOrder] };
      const source = await hookDataSource(
        new DataSource(options as DataSourceOptions),
      ).initialize();
      const orders = source.getRepository(TypeormOrder);
      return {
        ways: {
          // @ts-expect-error a number is not exact
          find: (id) => orders.findOneBy({ id }),
          where: (id) => orders.createQueryBuilder('o').where('o.id = :id', { id }).getOne(),
          whereInIds: (id) => orders.createQueryBuilder('o').whereInIds([id]).getOne(),
          query: async (id) => (await source.query(`${READ}$1`, [id]))[0],
        },
        close: () => source.destroy(),
      };
    },
  },
  {
    name: 'Drizzle',
    verdicts: { eq: 'refused', sql: 'not refused' },
    open({ postgres: url }) {
      const pool = new pg.Pool({ connectionString: url });
      const db = drizzle(pool);
      const { id: column } = drizzleOrders;
      return {
        ways: {
          // @ts-expect-error a number is not exact
          eq: async (id) => (await db.select().from(drizzleOrders).where(eq(column, id)))[0],
          sql: async (id) =>
            (await db.execute<{ id: string }>(drizzleSql`${drizzleSql.raw(READ)} ${id}`)).rows[0],
        },
        close: () => pool.end(),
      };
    },
  },
  {
    name: 'MikroORM',
    verdicts: { findOne: 'refused', where: 'refused' },
    async open({ postgres: url }) {
      const orm = await MikroORM.init({ clientUrl: url, entities: [mikroOrder] });
      return {
        ways: {
          findOne: (id) => orm.em.fork().findOne(mikroOrder, id as never),
          // @ts-expect-error a number is not exact
          where: (id) => orm.em.fork().findOne(mikroOrder, { id }),
        },
        close: () => orm.close(),
      };
    },
  },
  {
    name: 'Sequelize',
    verdicts: { findByPk: 'not refused', where: 'not refused' },
    open({ postgres: url }) {
      const sequelize = new Sequelize(url, { logging: false });
      const id = { type: DataTypes.BIGINT, primaryKey: true };
      SequelizeOrder.init({ id }, { sequelize, tableName: 'orders', timestamps: false });
      return {
        ways: {
          findByPk: (id) => SequelizeOrder.findByPk(id),
          where: (id) => SequelizeOrder.findOne({ where: { id } }),
        },
        close: () => sequelize.close(),
      };
    },
  },
  {
    name: 'Mongoose',
    verdicts: { findById: 'refused', where: 'refused' },
    open(_, ids) {
      const _id = { type: String, cast: false } as const;
      const orders = mongoose.createConnection().model('Order', new mongoose.Schema({ _id }));
      // Without a server. MongoDB would find the document whose key equals this string.
      const sent = (query: ReturnType<typeof orders.findOne>): Row => {
        query.cast(orders);
        const { _id: id } = query.getFilter() as { _id: string };
        return ids.includes(id) ? { id } : undefined;
      };
      return {
        ways: {
          findById: (id) => sent(orders.findById(id)),
          where: (id) => sent(orders.findOne({ _id: { $in: [id] } } as never)),
        },
        close: () => undefined,
      };
    },
  },
  {
    name: 'Objection',
    verdicts: { findById: 'not refused' },
    open({ postgres: url }) {
      const db = knex({ client: 'pg', connection: url });
      const orders = ObjectionOrder.bindKnex(db);
      return {
        ways: { findById: async (id) => await orders.query().findById(id) },
        close: () => db.destroy(),
      };
    },
  },
  {
    name: 'Knex',
    verdicts: { where: 'not refused' },
    open({ postgres: url }) {
      const db = knex({ client: 'pg', connection: url });
      return {
        ways: { where: async (id) => await db('orders').where({ id }).first('id') },
        close: () => db.destroy(),
      };
    },
  },
  {
    name: 'Kysely',
    verdicts: { where: 'not refused' },
    open: ({ postgres: connectionString }) =>
      kyselyReader(
        new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }) }),
      ),
  },
  {
    name: 'Kysely on MariaDB',
    verdicts: { where: 'not refused' },
    open({ mariadb: uri }) {
      const pool = mysqlCallbacks.createPool({ uri, supportBigNumbers: true });
      return kyselyReader(new Kysely({ dialect: new MysqlDialect({ pool }) }));
    },
  },
  {
    name: 'pg',
    verdicts: { query: 'not refused' },
    open({ postgres: connectionString }) {
      const pool = new pg.Pool({ connectionString });
      return {
        ways: {
          query: async (id) => (await pool.query<{ id: string }>(`${READ}$1`, [id])).rows[0],
        },
        close: () => pool.end(),
      };
    },
  },
  {
    name: 'postgres.js',
    verdicts: { sql: 'not refused' },
    open({ postgres: url }) {
      const sql = postgres(url);
      return {
        ways: { sql: async (id) => (await sql`SELECT id FROM orders WHERE id = ${id}`)[0] },
        close: () => sql.end(),
      };
    },
  },
  {
    name: 'mysql2',
    verdicts: { query: 'not refused', execute: 'not refused' },
    open({ mariadb: uri }) {
      const pool = mysql.createPool({ uri, supportBigNumbers: true });
      return {
        ways: {
          query: async (id) => (await pool.query<RowDataPacket[]>(`${READ}?`, [id]))[0][0],
          execute: async (id) => (await pool.execute<RowDataPacket[]>(`${READ}?`, [id]))[0][0],
        },
        close: () => pool.end(),
      };
    },
  },
  {
    name: 'mariadb',
    verdicts: { query: 'not refused', execute: 'not refused' },
    open({ mariadb: url }) {
      const pool = mariadb.createPool(url.replace('mysql:', 'mariadb:'));
      return {
        ways: {
          query: async (id) => (await pool.query<Row[]>(`${READ}?`, [id]))[0],
          execute: async (id) => (await pool.execute<Row[]>(`${READ}?`, [id]))[0],
        },
        close: () => pool.end(),
      };
    },
  },
];

/** The combined outcome of all reads. Finding another row outweighs every other outcome. */
async function verdictOf(way: Reader['ways'][string], ids: readonly string[]): Promise<string> {
  const outcomes = new Set<string>();
  for (const id of ids) {
    try {
      const found = await way(Number(id));
      outcomes.add(
        !found ? 'none' : String((found as { id: unknown }).id) === id ? 'right' : 'another row',
      );
    } catch (error) {
      outcomes.add(isRefusal(error) ? 'refused' : String(error));
    }
  }
  if (outcomes.has('another row')) return 'not refused';
  return [...outcomes].join();
}

const isRefusal = (error: unknown): boolean => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return code === 'ID_INVALID' || name === 'CastError' || name === 'TypeError';
};

let snowflakes: RunningSnowflake;
let ids: readonly string[];
const databases: Partial<Record<Kind, Database>> = {};
beforeAll(async () => {
  // The sequence is the last field of this layout, so consecutive IDs differ in their last digits.
  snowflakes = await startSnowflake({ workerId: 7 });
  ids = snowflakes.ids.nextIdStrings(ROWS);
  for (const kind of ['postgres', 'mariadb'] as const) {
    databases[kind] = await openDatabase(kind);
    const rows = ids.map((id) => `(${id}, '${id}')`);
    await databases[kind].run(`INSERT INTO orders (id, label) VALUES ${rows.join()}`);
  }
});
afterAll(async () => {
  for (const database of Object.values(databases)) await database.close();
  await snowflakes?.close();
});

describe.each(LIBRARIES)('a row read by Number(id), with $name', (library) => {
  let reader: Reader;
  beforeAll(async () => {
    const urls = { postgres: databases.postgres!.url.href, mariadb: databases.mariadb!.url.href };
    reader = await library.open(urls, ids);
  }, 600_000);
  afterAll(async () => {
    await reader?.close();
  });

  it.each(Object.entries(library.verdicts))('by %s: %s', async (name, verdict) => {
    expect(await verdictOf(reader.ways[name]!, reader.ids ?? ids)).toBe(verdict);
  });
});

it('the first lines of the guide name every library that does not refuse numbers', async () => {
  const guide = await readFile(`${ROOT}/docs/guides/databases.md`, 'utf8');
  const [first = ''] = guide.split('\n| ');
  const [warning = ''] = /^\*\*A number as an ID.*?\n\n/ms.exec(first) ?? [];
  const taking = LIBRARIES.filter(({ verdicts }) =>
    Object.values(verdicts).includes('not refused'),
  ).map(({ name }) => name.replace(' on MariaDB', ''));
  expect(taking.filter((name) => !warning.includes(name))).toEqual([]);
});
