/**
 * The databases on which recipes are tried: one of its own for each spec file, with a connection
 * that belongs to no library under test and reads every id as text.
 */
import { randomBytes } from 'node:crypto';
import mysql from 'mysql2/promise';
import pg from 'pg';

export type Kind = 'postgres' | 'mariadb';

export interface OrderRow {
  readonly id: string;
  readonly label: string;
  readonly total: number;
}

export interface Database {
  readonly kind: Kind;
  readonly url: URL;
  run(sql: string): Promise<void>;
  /** By the beginning of their labels. */
  ordersOf(label: string): Promise<OrderRow[]>;
  close(): Promise<void>;
}

const TABLES = [
  `CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, label varchar(120) NOT NULL UNIQUE,
    total int NOT NULL DEFAULT 1)`,
  `CREATE TABLE order_lines (id bigint NOT NULL PRIMARY KEY, order_id bigint NOT NULL,
    label varchar(120) NOT NULL, FOREIGN KEY (order_id) REFERENCES orders (id))`,
];

/** Lines are listed too, so that their ids are judged like those of orders. */
const rowsOf = (label: string): string =>
  ['orders', 'order_lines']
    .map((table) => `SELECT CAST(id AS char(20)) AS id, label, ${totalOf(table)} FROM ${table}`)
    .map((select) => `${select} WHERE label LIKE '${label}%'`)
    .join(' UNION ALL ');

const totalOf = (table: string): string => (table === 'orders' ? 'total' : '1 AS total');

export async function openDatabase(kind: Kind): Promise<Database> {
  const name = `recipe_${randomBytes(6).toString('hex')}`;
  const server = await connect(kind, serverUrl(kind));
  await server.query(`CREATE DATABASE ${name}`);
  const url = new URL(`/${name}`, serverUrl(kind));
  const connection = await connect(kind, url);
  for (const table of TABLES) await connection.query(table);
  return {
    kind,
    url,
    run: async (sql) => void (await connection.query(sql)),
    ordersOf: async (label) => {
      const rows = await connection.query(rowsOf(label));
      return rows.map((row) => ({ ...row, id: row.id.trim() }));
    },
    close: async () => {
      await connection.end();
      await server.query(`DROP DATABASE ${name} ${kind === 'postgres' ? 'WITH (FORCE)' : ''}`);
      await server.end();
    },
  };
}

interface Connection {
  query(sql: string): Promise<OrderRow[]>;
  end(): Promise<void>;
}

async function connect(kind: Kind, { href }: URL): Promise<Connection> {
  if (kind === 'mariadb') {
    const connection = await mysql.createConnection(href);
    const query = async (sql: string) => (await connection.query(sql))[0] as OrderRow[];
    return { query, end: () => connection.end() };
  }
  const client = new pg.Client(href);
  await client.connect();
  return { query: async (sql) => (await client.query(sql)).rows, end: () => client.end() };
}

function serverUrl(kind: Kind): URL {
  const url = kind === 'postgres' ? process.env['DATABASE_URL'] : process.env['MYSQL_URL'];
  if (url === undefined) throw new Error(`${kind} is not started; the global setup does.`);
  return new URL(url);
}
