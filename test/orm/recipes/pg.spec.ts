/** The bare driver of PostgreSQL, pg. */
import { parseJson } from 'nestjs-snowflake';
import pg from 'pg';
import { describeRecipe } from './support/describe-recipe.js';
import { newId } from './support/made-ids.js';

const INSERT = 'INSERT INTO orders (id, label, total) VALUES ($1, $2, 2)';
const INSERT_MANY = 'INSERT INTO orders (id, label) SELECT * FROM unnest($1::bigint[], $2::text[])';
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
      'a prepared statement, twice',
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
