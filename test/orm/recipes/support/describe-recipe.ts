/**
 * Tries every way in which a library writes or reads an order, and checks the resulting rows in the
 * database.
 */
import { inspect, isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import type { RunningSnowflake } from 'nestjs-snowflake';
import pg from 'pg';
import { ownDatabase } from '../../../own-database.js';
import { EARLIER_ID, isMade, startGenerator } from '../../odd-ids.js';

// The databases of the recipes: each spec file has its own. Its connection belongs to no library
// under test and reads every ID as a string.

export type Kind = 'postgres' | 'mariadb';

interface OrderRow {
  readonly id: string;
  readonly label: string;
  readonly total: number;
}

export interface Database {
  readonly kind: Kind;
  readonly url: URL;
  run(sql: string): Promise<void>;
  /** The orders whose labels begin with this one. */
  ordersOf(label: string): Promise<OrderRow[]>;
  close(): Promise<void>;
}

const TABLES = [
  `CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, label varchar(120) NOT NULL UNIQUE,
    total int NOT NULL DEFAULT 1)`,
  `CREATE TABLE order_lines (id bigint NOT NULL PRIMARY KEY, order_id bigint NOT NULL,
    label varchar(120) NOT NULL, FOREIGN KEY (order_id) REFERENCES orders (id))`,
];

/** Includes order lines, so that their IDs are checked as well. */
const rowsOf = (label: string): string =>
  ['orders', 'order_lines']
    .map((table) => `SELECT CAST(id AS char(20)) AS id, label, ${totalOf(table)} FROM ${table}`)
    .map((select) => `${select} WHERE label LIKE '${label}%'`)
    .join(' UNION ALL ');

const totalOf = (table: string): string => (table === 'orders' ? 'total' : '1 AS total');

export async function openDatabase(kind: Kind): Promise<Database> {
  const own = await ownDatabase(process.env[kind === 'postgres' ? 'DATABASE_URL' : 'MYSQL_URL']!);
  const url = new URL(own.url);
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
      await own.drop();
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

/** The outcome of a write. */
export type Outcome =
  /** Every new row has an ID of ours. */
  | 'filled'
  /** The row existed before, and kept its ID. */
  | 'kept'
  /** The row existed before, and now has another ID. */
  | 're-keyed'
  /** The database refused the row, because it has no ID. */
  | 'refused'
  /** The library refused the row before it reached the database. */
  | 'throws'
  /** The row was stored with the ID 0. */
  | 'stores 0'
  /** The row was stored with an ID that a number has rounded. */
  | 'stores a rounded id';

/** If the name of a call ends like this, the row exists before the call. */
const THERE = ', there';

export type Write<Library> = readonly [
  call: string,
  outcome: Outcome,
  run: (library: Library, label: string) => unknown,
];

/** The type of the ID that was read, or the failure of the read. */
export type Reading = 'string' | 'bigint' | 'rounded' | 'throws';

export type Read<Library> = readonly [
  from: string,
  reading: Reading,
  run: (library: Library, label: string) => unknown,
];

export interface Recipe<Library> {
  readonly name: string;
  readonly kind: Kind;
  open(url: URL): Promise<Library> | Library;
  close(library: Library): unknown;
  readonly writes: readonly Write<Library>[];
  readonly reads: readonly Read<Library>[];
  /** Further tests of the recipe, after the tables. */
  more?(library: () => Library, database: () => Database): void;
}

export function describeRecipe<Library>(recipe: Recipe<Library>): void {
  describe(`${recipe.name} on ${recipe.kind}`, () => {
    let database: Database;
    let library: Library;
    let snowflake: RunningSnowflake;
    let count = 0;
    const newLabel = () => `row ${++count} `;
    beforeAll(async () => {
      database = await openDatabase(recipe.kind);
      snowflake = await startGenerator();
      library = await recipe.open(database.url);
    });
    afterAll(async () => {
      if (library !== undefined) await recipe.close(library);
      await snowflake?.close();
      await database?.close();
    });

    const outcomeOf = async ([call, , run]: Write<Library>): Promise<string> => {
      const label = newLabel();
      const exists = call.endsWith(THERE);
      if (exists) await insertEarlier(database, label);
      const failure = await failureOf(() => run(library, label));
      return outcomeIn(await database.ordersOf(label), exists, failure);
    };

    for (const write of recipe.writes) {
      it(`${write[0]}: ${write[1]}`, async () => {
        expect(await outcomeOf(write)).toBe(write[1]);
      });
    }

    for (const [from, reading, run] of recipe.reads) {
      it(`read from ${from}: ${reading}`, async () => {
        const label = newLabel();
        await insertEarlier(database, label);
        expect(await readingOf(() => run(library, label))).toBe(reading);
      });
    }

    recipe.more?.(
      () => library,
      () => database,
    );

    const filled = recipe.writes.filter(([, outcome]) => outcome === 'filled');
    for (const write of filled)
      it(`${write[0]}: throws while no generator runs`, async () => {
        await snowflake.close();
        expect(await outcomeOf(write)).toBe('throws');
      });
  });
}

/** Only one row at a time has the earlier ID. */
async function insertEarlier(database: Database, label: string): Promise<void> {
  await database.run(`DELETE FROM orders WHERE id = ${EARLIER_ID}`);
  await database.run(`INSERT INTO orders (id, label) VALUES (${EARLIER_ID}, '${label}')`);
}

async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error ?? new Error('nothing');
  }
}

function outcomeIn(rows: readonly OrderRow[], existed: boolean, failure: unknown): string {
  const ids = rows.map(({ id }) => id);
  if (failure !== undefined) {
    const before = existed ? [{ id: EARLIER_ID, total: 1 }] : [];
    const now = rows.map(({ id, total }) => ({ id, total }));
    if (!isDeepStrictEqual(now, before)) return `failed half-way: ${inspect(failure)}`;
    if (isRefusal(failure)) return 'refused';
    return isThrown(failure) ? 'throws' : inspect(failure);
  }
  if (existed) {
    if (rows.some(({ total }) => total !== 2)) return 'did not write';
    return ids.includes(EARLIER_ID) ? 'kept' : 're-keyed';
  }
  if (ids.length === 0) return 'stored nothing';
  if (ids.every(isMade)) return 'filled';
  if (ids.includes('0')) return 'stores 0';
  return ids.every((id) => id === String(Number(id))) ? 'stores a rounded id' : ids.join();
}

/** A missing value for a required column, in PostgreSQL and in MariaDB. */
const NO_VALUE = ['23502', 1364, 1048];

const isRefusal = (failure: unknown): boolean =>
  chainOf(failure).some(
    ({ code, errno }) => NO_VALUE.includes(code as string) || NO_VALUE.includes(errno as number),
  );

/** Our error, or an error that a library throws before it contacts the database. */
const isThrown = (failure: unknown): boolean =>
  chainOf(failure).some(
    ({ code, name }) =>
      code === 'NOT_READY' || (typeof name === 'string' && name.endsWith('ValidationError')),
  );

/** Each library wraps the error of a driver or of a default function in its own way. */
function chainOf(failure: unknown): Record<string, unknown>[] {
  if (typeof failure !== 'object' || failure === null) return [];
  const error = failure as Record<string, unknown>;
  const inner = [error['cause'], error['parent'], error['original'], error['nativeError']];
  const many = Array.isArray(error['errors']) ? (error['errors'] as unknown[]) : [];
  const below = [...inner, ...many].filter((one) => one !== failure);
  return [error, ...below.flatMap(chainOf)];
}

async function readingOf(run: () => unknown): Promise<string> {
  try {
    const id = await run();
    return String(id) === EARLIER_ID ? typeof id : typeof id === 'number' ? 'rounded' : String(id);
  } catch (error) {
    return `throws${error instanceof Error ? '' : ' something'}`;
  }
}
