/** The bare driver of PostgreSQL, postgres.js. */
import postgres from 'postgres';
import { describeRecipe } from './support/describe-recipe.js';
import { newId } from './support/made-ids.js';

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
