/**
 * A shop in a database of its own: the tables of shop.prisma, and what lies in them, read past
 * Prisma.
 */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';

export type Provider = 'postgresql' | 'mysql';

export interface Row {
  readonly id: bigint;
  readonly [field: string]: unknown;
}

type Operation = (args?: object) => Promise<Row & Row[]>;

/** What every client of the shop has, in both majors. */
export interface Model {
  readonly create: Operation;
  readonly createMany: Operation;
  readonly createManyAndReturn: Operation;
  readonly update: Operation;
  readonly updateMany: Operation;
  readonly upsert: Operation;
  readonly findMany: Operation;
  readonly findUniqueOrThrow: Operation;
}

export interface Shop {
  readonly customer: Model;
  readonly profile: Model;
  readonly badge: Model;
  readonly order: Model;
  readonly line: Model;
  readonly part: Model;
  readonly tag: Model;
  readonly foreign: Model;
  $extends(extension: unknown): Shop;
  $transaction<T>(work: ((shop: Shop) => Promise<T>) | Promise<unknown>[]): Promise<T>;
  $executeRawUnsafe(sql: string): Promise<number>;
  $disconnect(): Promise<void>;
}

/** Each table and the columns of ids that the extension fills, in an order for deleting. */
export const FILLED = {
  part: ['id'],
  line: ['number'],
  shop_order: ['id', 'ticket_text'],
  badge: ['id'],
  profile: ['id'],
  customer: ['id'],
  tag: ['id'],
  foreigner: ['marked'],
} as const;

export type Table = keyof typeof FILLED;

const tables = (serial: string, quote: string): string[] => {
  const q = (name: string) => `${quote}${name}${quote}`;
  return [
    `customer (id bigint PRIMARY KEY, email varchar(99) NOT NULL UNIQUE,
      name varchar(99) NOT NULL DEFAULT '',
      ${q('inviterId')} bigint REFERENCES customer (id))`,
    `profile (id bigint PRIMARY KEY, data json,
      ${q('customerId')} bigint NOT NULL UNIQUE REFERENCES customer (id))`,
    `badge (id varchar(20) PRIMARY KEY, title varchar(99) NOT NULL,
      ${q('profileId')} bigint REFERENCES profile (id))`,
    `shop_order (id bigint PRIMARY KEY, note varchar(99), ticket_text varchar(20) NOT NULL UNIQUE,
      ${q('customerId')} bigint REFERENCES customer (id))`,
    `line (${q('orderId')} bigint NOT NULL REFERENCES shop_order (id), number bigint NOT NULL,
      product varchar(99) NOT NULL, PRIMARY KEY (${q('orderId')}, number))`,
    `part (id bigint PRIMARY KEY, material varchar(99) NOT NULL, ${q('orderId')} bigint NOT NULL,
      ${q('lineNumber')} bigint NOT NULL,
      FOREIGN KEY (${q('orderId')}, ${q('lineNumber')}) REFERENCES line (${q('orderId')}, number))`,
    `tag (id bigint PRIMARY KEY, label varchar(99) NOT NULL UNIQUE)`,
    `${q('_OrderToTag')} (${q('A')} bigint NOT NULL REFERENCES shop_order (id),
      ${q('B')} bigint NOT NULL REFERENCES tag (id), PRIMARY KEY (${q('A')}, ${q('B')}))`,
    `foreigner (id ${serial} PRIMARY KEY, uuid varchar(40) NOT NULL,
      made varchar(40) NOT NULL DEFAULT (concat('by the ', 'database')),
      marked varchar(20) NOT NULL)`,
  ].map((table) => `CREATE TABLE ${table}`);
};

export interface OpenDatabase {
  readonly provider: Provider;
  readonly url: URL;
  /** What is in a column of ids, as the digits that are stored. */
  idsIn(table: Table, column: string): Promise<string[]>;
  clear(): Promise<void>;
  drop(): Promise<void>;
}

type RunSql = (sql: string) => Promise<Record<string, unknown>[]>;

const urlFrom = (variable: string): URL => {
  const url = process.env[variable];
  if (url === undefined) throw new Error(`${variable} is not set; the global setup sets it.`);
  return new URL(url);
};

async function connect(provider: Provider, url: URL): Promise<[RunSql, () => Promise<void>]> {
  if (provider === 'postgresql') {
    const client = new pg.Client(url.href);
    await client.connect();
    return [async (sql) => (await client.query(sql)).rows, () => client.end()];
  }
  const connection = await createConnection(url.href);
  const query: RunSql = async (sql) =>
    (await connection.query(sql))[0] as Record<string, unknown>[];
  return [query, () => connection.end()];
}

export async function openDatabase(provider: Provider): Promise<OpenDatabase> {
  const isPostgres = provider === 'postgresql';
  const server = urlFrom(isPostgres ? 'DATABASE_URL' : 'MYSQL_URL');
  const name = `prisma_${randomBytes(6).toString('hex')}`;
  const onServer = async (sql: string): Promise<void> => {
    const [query, close] = await connect(provider, server);
    await query(sql);
    await close();
  };
  await onServer(`CREATE DATABASE ${name}`);
  const url = new URL(`/${name}`, server);
  const [query, close] = await connect(provider, url);
  const serial = isPostgres ? 'serial' : 'int AUTO_INCREMENT';
  for (const sql of tables(serial, isPostgres ? '"' : '`')) await query(sql);
  return {
    provider,
    url,
    idsIn: async (table, column) => {
      const text = isPostgres ? `${column}::text` : `CAST(${column} AS char)`;
      const rows = await query(`SELECT ${text} AS id FROM ${table} ORDER BY ${column}`);
      return rows.map(({ id }) => id as string);
    },
    clear: async () => {
      await query(`DELETE FROM ${isPostgres ? '"_OrderToTag"' : '`_OrderToTag`'}`);
      const own = isPostgres ? '"inviterId"' : '`inviterId`';
      await query(`UPDATE customer SET ${own} = NULL`);
      for (const table of Object.keys(FILLED)) await query(`DELETE FROM ${table}`);
    },
    drop: async () => {
      await close();
      await onServer(`DROP DATABASE ${name} ${isPostgres ? 'WITH (FORCE)' : ''}`);
    },
  };
}
