/** Knex on both databases. */
import knex, { type Knex } from 'knex';
import type { Kind } from './support/databases.js';
import { describeRecipe } from './support/describe-recipe.js';
import { newId } from './support/made-ids.js';
import type { Read, Write } from './support/describe-recipe.js';

const row = (label: string, total = 2) => ({ id: newId(), label, total });
const rows = (label: string) => [row(`${label} 1`), row(`${label} 2`)];
const idIn = async (db: Knex, label: string): Promise<unknown> =>
  (await db('orders').where({ label }).first('id'))?.id;

const WRITES: readonly Write<Knex>[] = [
  ['insert', 'filled', (db, label) => db('orders').insert(row(label))],
  ['insert of many', 'filled', (db, label) => db('orders').insert(rows(label))],
  [
    'insert of a bigint',
    'filled',
    (db, label) => db('orders').insert({ ...row(label), id: BigInt(newId()) }),
  ],
  ['batchInsert', 'filled', (db, label) => db.batchInsert('orders', rows(label), 1)],
  [
    'a transaction',
    'filled',
    (db, label) => db.transaction((trx) => trx('orders').insert(row(label))),
  ],
  [
    'onConflict().merge([columns]), new',
    'filled',
    (db, label) => db('orders').insert(row(label)).onConflict('label').merge(['total']),
  ],
  [
    'onConflict().merge([columns]), there',
    'kept',
    (db, label) => db('orders').insert(row(label)).onConflict('label').merge(['total']),
  ],
  [
    'onConflict().merge(), there',
    're-keyed',
    (db, label) => db('orders').insert(row(label)).onConflict('label').merge(),
  ],
  [
    'insert of a number',
    'stores a rounded id',
    (db, label) => db('orders').insert({ ...row(label), id: Number(newId()) }),
  ],
  ['insert without an id', 'refused', (db, label) => db('orders').insert({ label })],
  [
    'insert of many, one without an id',
    'refused',
    (db, label) => db('orders').insert([row(label), { label: `${label} 2` }]),
  ],
  [
    'insert from a query',
    'refused',
    (db, label) => db.into(db.raw('orders (label)')).insert(db.select(db.raw('?', [label]))),
  ],
];

const READS: readonly Read<Knex>[] = [['a column', 'string', idIn]];

const JSON_READS: Record<Kind, readonly Read<Knex>[]> = {
  postgres: [
    [
      'json_agg',
      'rounded',
      async (db, label) => {
        const found = await db('orders').where({ label }).first(db.raw('json_agg(orders) AS list'));
        return found.list[0].id;
      },
    ],
  ],
  mariadb: [],
};

const MARIADB_WRITES: readonly Write<Knex>[] = [
  [
    'onConflict().ignore() without an id',
    'stores 0',
    (db, label) => db('orders').insert({ label }).onConflict('label').ignore(),
  ],
];

const recipe = (kind: Kind) => ({
  name: 'Knex',
  kind,
  open: ({ href }: URL) =>
    kind === 'postgres'
      ? knex({ client: 'pg', connection: href })
      : knex({ client: 'mysql2', connection: { uri: href, supportBigNumbers: true } }),
  close: (db: Knex) => db.destroy(),
  writes: kind === 'postgres' ? WRITES : [...WRITES, ...MARIADB_WRITES],
  reads: [...READS, ...JSON_READS[kind]],
});

describeRecipe(recipe('postgres'));
describeRecipe(recipe('mariadb'));

describeRecipe<Knex>({
  ...recipe('mariadb'),
  name: 'Knex without supportBigNumbers',
  open: ({ href }) => knex({ client: 'mysql2', connection: href }),
  writes: [],
  reads: [['a column', 'rounded', idIn]],
});
