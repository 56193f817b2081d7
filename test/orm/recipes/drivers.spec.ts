/** The PostgreSQL driver pg. */
import { describe } from '@jest/globals';
import mariadb from 'mariadb';
import type { Connection as MariadbConnection, QueryOptions } from 'mariadb';
import mysql from 'mysql2/promise';
import type { Connection, ConnectionOptions, RowDataPacket } from 'mysql2/promise';
import { parseJson } from 'nestjs-snowflake';
import pg from 'pg';
import postgres from 'postgres';
import { describeRecipe } from './support/describe-recipe.js';
import { newId } from '../odd-ids.js';

describe('pg', () => {
  const INSERT = 'INSERT INTO orders (id, label, total) VALUES ($1, $2, 2)';
  const INSERT_MANY =
    'INSERT INTO orders (id, label) SELECT * FROM unnest($1::bigint[], $2::text[])';
  const UPSERT = `${INSERT} ON CONFLICT (label) DO UPDATE SET total = excluded.total`;
  const READ = 'SELECT id FROM orders WHERE label = $1';

  const firstOf = async (client: pg.Client, query: pg.QueryConfig | string, label: string) =>
    (await client.query<{ id: unknown }>(query, [label])).rows[0]!.id;

  const parsedBy = (parse: (text: string) => unknown): pg.QueryConfig => ({
    text: READ,
    types: { getTypeParser: () => parse },
  });

  describeRecipe<pg.Client>({
    name: 'pg',
    kind: 'postgres',
    open: async ({ href }) => {
      const client = new pg.Client(href);
      await client.connect();
      return client;
    },
    close: (client) => client.end(),
    writes: [
      ['text', 'filled', (client, label) => client.query(INSERT, [newId(), label])],
      ['a bigint', 'filled', (client, label) => client.query(INSERT, [BigInt(newId()), label])],
      [
        'a prepared statement, run two times',
        'filled',
        async (client, label) => {
          const statement = { name: 'insert order', text: INSERT };
          await client.query({ ...statement, values: [newId(), `${label} 1`] });
          await client.query({ ...statement, values: [newId(), `${label} 2`] });
        },
      ],
      [
        'many rows from arrays',
        'filled',
        (client, label) =>
          client.query(INSERT_MANY, [
            [newId(), newId()],
            [label, `${label} 2`],
          ]),
      ],
      ['ON CONFLICT, new', 'filled', (client, label) => client.query(UPSERT, [newId(), label])],
      ['ON CONFLICT, there', 'kept', (client, label) => client.query(UPSERT, [newId(), label])],
      [
        'ON CONFLICT that also sets id, there',
        're-keyed',
        (client, label) => client.query(`${UPSERT}, id = excluded.id`, [newId(), label]),
      ],
      [
        'a number',
        'stores a rounded id',
        (client, label) => client.query(INSERT, [Number(newId()), label]),
      ],
      [
        'no id',
        'refused',
        (client, label) => client.query('INSERT INTO orders (label) VALUES ($1)', [label]),
      ],
      [
        'INSERT ... SELECT without an id',
        'refused',
        (client, label) => client.query('INSERT INTO orders (label) SELECT $1', [label]),
      ],
    ],
    reads: [
      ['a column', 'string', (client, label) => firstOf(client, READ, label)],
      ['a parser BigInt', 'bigint', (client, label) => firstOf(client, parsedBy(BigInt), label)],
      ['a parser Number', 'rounded', (client, label) => firstOf(client, parsedBy(Number), label)],
      [
        'json_agg of rows',
        'rounded',
        async (client, label) => {
          const sql = 'SELECT json_agg(orders) AS id FROM orders WHERE label = $1';
          return ((await firstOf(client, sql, label)) as { id: unknown }[])[0]!.id;
        },
      ],
      [
        'json_agg of rows, by parseJson',
        'string',
        async (client, label) => {
          const text = 'SELECT json_agg(orders) AS id FROM orders WHERE label = $1';
          const query = { text, types: { getTypeParser: () => parseJson } };
          return ((await firstOf(client, query, label)) as { id: unknown }[])[0]!.id;
        },
      ],
      [
        'json_agg of id::text',
        'string',
        async (client, label) => {
          const sql = 'SELECT json_agg(id::text) AS id FROM orders WHERE label = $1';
          return ((await firstOf(client, sql, label)) as unknown[])[0];
        },
      ],
    ],
  });
});

/* The PostgreSQL driver postgres.js. */
interface Id {
  readonly id: unknown;
}

const open = ({ href: url }: URL) => ({ url, sql: postgres(url) });

describeRecipe<ReturnType<typeof open>>({
  name: 'postgres.js',
  kind: 'postgres',
  open,
  close: ({ sql }) => sql.end(),
  writes: [
    [
      'text',
      'filled',
      ({ sql }, label) => sql`INSERT INTO orders (id, label) VALUES (${newId()}, ${label})`,
    ],
    [
      'a helper for a row',
      'filled',
      ({ sql }, label) => sql`INSERT INTO orders ${sql({ id: newId(), label })}`,
    ],
    [
      'a helper for rows',
      'filled',
      ({ sql }, label) => {
        const rows = [1, 2].map((n) => ({ id: newId(), label: `${label} ${n}` }));
        return sql`INSERT INTO orders ${sql(rows)}`;
      },
    ],
    [
      'ON CONFLICT, new',
      'filled',
      ({ sql }, label) => sql`INSERT INTO orders ${sql({ id: newId(), label })}
        ON CONFLICT (label) DO UPDATE SET total = 2`,
    ],
    [
      'ON CONFLICT, there',
      'kept',
      ({ sql }, label) => sql`INSERT INTO orders ${sql({ id: newId(), label })}
        ON CONFLICT (label) DO UPDATE SET total = 2`,
    ],
    [
      'ON CONFLICT that also sets id, there',
      're-keyed',
      ({ sql }, label) => sql`INSERT INTO orders ${sql({ id: newId(), label })}
        ON CONFLICT (label) DO UPDATE SET id = excluded.id, total = 2`,
    ],
    [
      'a number',
      'stores a rounded id',
      ({ sql }, label) => sql`INSERT INTO orders ${sql({ id: Number(newId()), label })}`,
    ],
    ['no id', 'refused', ({ sql }, label) => sql`INSERT INTO orders ${sql({ label })}`],
  ],
  reads: [
    [
      'a column',
      'string',
      async ({ sql }, label) =>
        (await sql<Id[]>`SELECT id FROM orders WHERE label = ${label}`)[0]!.id,
    ],
    [
      'a column, with types: { bigint: postgres.BigInt }',
      'bigint',
      async ({ url }, label) => {
        const sql = postgres(url, { types: { bigint: postgres.BigInt } });
        const [row] = await sql<Id[]>`SELECT id FROM orders WHERE label = ${label}`;
        await sql.end();
        return row!.id;
      },
    ],
    [
      'json_agg of rows',
      'rounded',
      async ({ sql }, label) => {
        const [row] = await sql<{ list: Id[] }[]>`
          SELECT json_agg(orders) AS list FROM orders WHERE label = ${label}`;
        return row!.list[0]!.id;
      },
    ],
    [
      'json_agg of id::text',
      'string',
      async ({ sql }, label) => {
        const [row] = await sql<{ list: unknown[] }[]>`
          SELECT json_agg(id::text) AS list FROM orders WHERE label = ${label}`;
        return row!.list[0];
      },
    ],
  ],
});

/* The MariaDB and MySQL driver mysql2. */
describe('mysql2', () => {
  const INSERT = 'INSERT INTO orders (id, label, total) VALUES (?, ?, 2)';
  const UPSERT = `${INSERT} ON DUPLICATE KEY UPDATE total = VALUES(total)`;
  const READ = 'SELECT id FROM orders WHERE label = ?';
  const AS_JSON = 'SELECT JSON_ARRAYAGG(JSON_OBJECT("id", id)) AS id FROM orders WHERE label = ?';
  const AS_TEXT = AS_JSON.replace('"id", id', '"id", CAST(id AS char)');

  /** The ID of the first row, read through a connection with these options. */
  async function firstOf(
    { config }: Connection,
    options: ConnectionOptions,
    sql: string,
    label: string,
  ): Promise<unknown> {
    const { host, port, user, database } = config;
    const given = { host: host!, port: port!, user: user!, database: database!, ...options };
    const connection = await mysql.createConnection(given);
    const [rows] = await connection.query<RowDataPacket[]>(sql, [label]);
    await connection.end();
    return rows[0]!['id'];
  }

  const fromJson = (list: unknown): unknown => {
    const parsed: unknown = typeof list === 'string' ? JSON.parse(list) : list;
    return (parsed as { id: unknown }[])[0]!.id;
  };

  describeRecipe<Connection>({
    name: 'mysql2',
    kind: 'mariadb',
    open: ({ href }) => mysql.createConnection(href),
    close: (connection) => connection.end(),
    writes: [
      ['query of text', 'filled', (db, label) => db.query(INSERT, [newId(), label])],
      ['query of a bigint', 'filled', (db, label) => db.query(INSERT, [BigInt(newId()), label])],
      ['execute of text', 'filled', (db, label) => db.execute(INSERT, [newId(), label])],
      [
        'execute of a bigint',
        'filled',
        (db, label) => db.execute(INSERT, [BigInt(newId()), label]),
      ],
      [
        'many rows',
        'filled',
        (db, label) => {
          const rows = [1, 2].map((n) => [newId(), `${label} ${n}`]);
          return db.query('INSERT INTO orders (id, label) VALUES ?', [rows]);
        },
      ],
      [
        'SET ?',
        'filled',
        (db, label) => db.query('INSERT INTO orders SET ?', { id: newId(), label }),
      ],
      ['ON DUPLICATE KEY, new', 'filled', (db, label) => db.query(UPSERT, [newId(), label])],
      ['ON DUPLICATE KEY, there', 'kept', (db, label) => db.query(UPSERT, [newId(), label])],
      [
        'ON DUPLICATE KEY that also sets id, there',
        're-keyed',
        (db, label) => db.query(`${UPSERT}, id = VALUES(id)`, [newId(), label]),
      ],
      [
        'REPLACE, there',
        're-keyed',
        (db, label) => db.query(INSERT.replace('INSERT', 'REPLACE'), [newId(), label]),
      ],
      [
        'a number',
        'stores a rounded id',
        (db, label) => db.query(INSERT, [Number(newId()), label]),
      ],
      ['no id', 'refused', (db, label) => db.query('INSERT INTO orders SET ?', { label })],
      [
        'INSERT IGNORE without an id',
        'stores 0',
        (db, label) => db.query('INSERT IGNORE INTO orders SET ?', { label }),
      ],
    ],
    reads: [
      ['a column', 'rounded', (db, label) => firstOf(db, {}, READ, label)],
      [
        'a column, with supportBigNumbers',
        'string',
        (db, label) => firstOf(db, { supportBigNumbers: true }, READ, label),
      ],
      [
        'JSON_ARRAYAGG',
        'rounded',
        async (db, label) =>
          fromJson(await firstOf(db, { supportBigNumbers: true }, AS_JSON, label)),
      ],
      [
        'JSON_ARRAYAGG of CAST(id AS char)',
        'string',
        async (db, label) => fromJson(await firstOf(db, {}, AS_TEXT, label)),
      ],
    ],
  });
});

/* The MariaDB driver mariadb. */
describe('mariadb', () => {
  const INSERT = 'INSERT INTO orders (id, label, total) VALUES (?, ?, 2)';
  const UPSERT = `${INSERT} ON DUPLICATE KEY UPDATE total = VALUES(total)`;
  const READ = 'SELECT id FROM orders WHERE label = ?';
  const AS_JSON = 'SELECT JSON_ARRAYAGG(JSON_OBJECT("id", id)) AS id FROM orders WHERE label = ?';

  const firstOf = async (db: MariadbConnection, sql: string | QueryOptions, label: string) =>
    (await db.query<{ id: unknown }[]>(sql, [label]))[0]!.id;

  const fromJson = (list: unknown): unknown => {
    const parsed: unknown = typeof list === 'string' ? JSON.parse(list) : list;
    return (parsed as { id: unknown }[])[0]!.id;
  };

  describeRecipe<MariadbConnection>({
    name: 'mariadb',
    kind: 'mariadb',
    open: ({ hostname, port, username, pathname }) =>
      mariadb.createConnection({
        host: hostname,
        port: Number(port),
        user: username,
        database: pathname.slice(1),
        // The default of 1 s is too short on a busy machine.
        connectTimeout: 60_000,
      }),
    close: (db) => db.end(),
    writes: [
      ['query of text', 'filled', (db, label) => db.query(INSERT, [newId(), label])],
      ['query of a bigint', 'filled', (db, label) => db.query(INSERT, [BigInt(newId()), label])],
      ['execute of text', 'filled', (db, label) => db.execute(INSERT, [newId(), label])],
      [
        'execute of a bigint',
        'filled',
        (db, label) => db.execute(INSERT, [BigInt(newId()), label]),
      ],
      [
        'batch',
        'filled',
        (db, label) =>
          db.batch(
            INSERT,
            [1, 2].map((n) => [newId(), `${label} ${n}`]),
          ),
      ],
      ['ON DUPLICATE KEY, new', 'filled', (db, label) => db.query(UPSERT, [newId(), label])],
      ['ON DUPLICATE KEY, there', 'kept', (db, label) => db.query(UPSERT, [newId(), label])],
      [
        'REPLACE, there',
        're-keyed',
        (db, label) => db.query(INSERT.replace('INSERT', 'REPLACE'), [newId(), label]),
      ],
      [
        'a number',
        'stores a rounded id',
        (db, label) => db.query(INSERT, [Number(newId()), label]),
      ],
      [
        'no id',
        'refused',
        (db, label) => db.query('INSERT INTO orders (label) VALUES (?)', [label]),
      ],
      [
        'INSERT IGNORE without an id',
        'stores 0',
        (db, label) => db.query('INSERT IGNORE INTO orders (label) VALUES (?)', [label]),
      ],
    ],
    reads: [
      ['a column', 'bigint', (db, label) => firstOf(db, READ, label)],
      [
        'a column, with bigIntAsNumber',
        'rounded',
        (db, label) => firstOf(db, { sql: READ, bigIntAsNumber: true }, label),
      ],
      [
        'a column, with bigIntAsNumber and checkNumberRange',
        'throws',
        (db, label) =>
          firstOf(db, { sql: READ, bigIntAsNumber: true, checkNumberRange: true }, label),
      ],
      [
        'JSON_ARRAYAGG',
        'rounded',
        async (db, label) => fromJson(await firstOf(db, AS_JSON, label)),
      ],
      [
        'JSON_ARRAYAGG of CAST(id AS char)',
        'string',
        async (db, label) => {
          const sql = AS_JSON.replace('"id", id', '"id", CAST(id AS char)');
          return fromJson(await firstOf(db, sql, label));
        },
      ],
    ],
  });
});
