/** Objection on both databases: a base model fills the ids of every insert. */
import { expect, it } from '@jest/globals';
import knex, { type Knex } from 'knex';
import { Model, knexSnakeCaseMappers, type ModelClass } from 'objection';
import { currentIdMaker } from 'nestjs-snowflake';
import type { Database, Kind } from './support/databases.js';
import { describeRecipe, type Recipe, type Write } from './support/describe-recipe.js';
import { isMade } from './support/made-ids.js';

class SnowflakeModel extends Model {
  id!: string;

  override $beforeInsert(): void {
    this.id ??= currentIdMaker().nextIdString();
  }
}

class Line extends SnowflakeModel {
  static override tableName = 'order_lines';
  orderId!: string;
  label!: string;
}

class Order extends SnowflakeModel {
  static override tableName = 'orders';
  static override relationMappings = {
    lines: {
      relation: Model.HasManyRelation,
      modelClass: Line,
      join: { from: 'orders.id', to: 'order_lines.order_id' },
    },
  };
  label!: string;
  total!: number;
  lines?: Line[];
}

interface Library {
  readonly db: Knex;
  readonly Orders: ModelClass<Order>;
}

const withLines = (label: string) => ({
  label,
  lines: [{ label: `${label} line 1` }, { label: `${label} line 2` }] as Line[],
});

const WRITES: readonly Write<Library>[] = [
  ['insert', 'filled', ({ Orders }, label) => Orders.query().insert({ label })],
  ['insertAndFetch', 'filled', ({ Orders }, label) => Orders.query().insertAndFetch({ label })],
  ['insertGraph', 'filled', ({ Orders }, label) => Orders.query().insertGraph(withLines(label))],
  [
    'insertGraph of many',
    'filled',
    ({ Orders }, label) => Orders.query().insertGraph([withLines(label), withLines(`${label} 2`)]),
  ],
  [
    'upsertGraph with insertMissing',
    'filled',
    ({ Orders }, label) => Orders.query().upsertGraph(withLines(label), { insertMissing: true }),
  ],
  [
    '$relatedQuery().insert',
    'filled',
    async ({ Orders }, label) => {
      const order = await Orders.query().insert({ label });
      await order.$relatedQuery<Line>('lines').insert({ label: `${label} line` });
    },
  ],
  [
    'a transaction',
    'filled',
    ({ Orders }, label) =>
      Orders.transaction(async (trx) => await Orders.query(trx).insert({ label })),
  ],
  [
    'onConflict().merge([columns]), new',
    'filled',
    ({ Orders }, label) =>
      Orders.query().insert({ label, total: 2 }).onConflict('label').merge(['total']),
  ],
  [
    'onConflict().merge([columns]), there',
    'kept',
    ({ Orders }, label) =>
      Orders.query().insert({ label, total: 2 }).onConflict('label').merge(['total']),
  ],
  [
    'onConflict().merge(), there',
    're-keyed',
    ({ Orders }, label) => Orders.query().insert({ label, total: 2 }).onConflict('label').merge(),
  ],
  ['knex() without the model', 'refused', ({ db }, label) => db('orders').insert({ label })],
];

const POSTGRES_WRITES: readonly Write<Library>[] = [
  [
    'insert of many',
    'filled',
    ({ Orders }, label) => Orders.query().insert([{ label }, { label: `${label} 2` }]),
  ],
];

const ownTests = (library: () => Library, database: () => Database) => {
  it('returns the id that was stored, also after insertGraph', async () => {
    const one = await library().Orders.query().insert({ label: 'returned 1' });
    const two = await library().Orders.query().insertGraph(withLines('returned 2'));
    const ids = [one.id, two.id, ...two.lines!.map(({ id }) => id)];
    const stored = await database().ordersOf('returned');
    expect(ids.map(isMade)).toEqual([true, true, true, true]);
    expect(stored.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });

  it('keeps an id that was set', async () => {
    const { id } = await library().Orders.query().insert({ label: 'set', id: '9007199254740993' });
    expect(await database().ordersOf('set')).toMatchObject([{ id }]);
  });
};

const connections = {
  postgres: (href: string) => ({ client: 'pg', connection: href }),
  mariadb: (href: string) => ({
    client: 'mysql2',
    connection: { uri: href, supportBigNumbers: true },
  }),
};

const recipe = (kind: Kind): Recipe<Library> => ({
  name: 'Objection',
  kind,
  open: ({ href }) => {
    const db = knex({ ...connections[kind](href), ...knexSnakeCaseMappers() });
    return { db, Orders: Order.bindKnex(db) };
  },
  close: ({ db }) => db.destroy(),
  writes: kind === 'postgres' ? [...WRITES, ...POSTGRES_WRITES] : WRITES,
  reads: [
    [
      'a model',
      'string',
      async ({ Orders }, label) => (await Orders.query().findOne({ label }))?.id,
    ],
    [
      'withGraphJoined',
      'string',
      async ({ Orders }, label) =>
        (await Orders.query().withGraphJoined('lines').findOne({ 'orders.label': label }))?.id,
    ],
  ],
  more: ownTests,
});

describeRecipe(recipe('postgres'));
describeRecipe(recipe('mariadb'));
