/** Knex on both databases. */
import { describe, expect, it } from '@jest/globals';
import knex from 'knex';
import type { Knex } from 'knex';
import {
  type Generated,
  type Insertable,
  Kysely,
  MysqlDialect,
  PostgresDialect,
  sql,
} from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { createPool } from 'mysql2';
import { currentIdMaker } from 'nestjs-snowflake';
import { knexSnakeCaseMappers, Model, type ModelClass } from 'objection';
import pg from 'pg';
import {
  describeRecipe,
  type Database,
  type Kind,
  type Read,
  type Recipe,
  type Write,
} from './support/describe-recipe.js';
import { isMade, newId } from '../odd-ids.js';

describe('knex', () => {
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
          const found = await db('orders')
            .where({ label })
            .first(db.raw('json_agg(orders) AS list'));
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
});

/* Kysely on both databases. */
describe('kysely', () => {
  interface Tables {
    orders: { id: string; label: string; total: Generated<number> };
  }
  type Db = Kysely<Tables>;

  const row = (label: string) => ({ id: newId(), label, total: 2 });
  /** A row of code that silences the compiler. */
  const rowWithoutId = (label: string) => ({ label }) as Insertable<Tables['orders']>;

  const WRITES: readonly Write<Db>[] = [
    ['values', 'filled', (db, label) => db.insertInto('orders').values(row(label)).execute()],
    [
      'values of many',
      'filled',
      (db, label) =>
        db
          .insertInto('orders')
          .values([row(label), row(`${label} 2`)])
          .execute(),
    ],
    [
      'a transaction',
      'filled',
      (db, label) =>
        db.transaction().execute((trx) => trx.insertInto('orders').values(row(label)).execute()),
    ],
    [
      'values without an id',
      'refused',
      (db, label) => db.insertInto('orders').values(rowWithoutId(label)).execute(),
    ],
    [
      'insert from a query',
      'refused',
      (db, label) =>
        db
          .insertInto('orders')
          .columns(['label'])
          .expression(db.selectNoFrom(sql<string>`${sql.lit(label)}`.as('label')))
          .execute(),
    ],
  ];

  const upsert = (db: Db, label: string) =>
    db
      .insertInto('orders')
      .values(row(label))
      .onConflict((on) => on.column('label').doUpdateSet({ total: 2 }))
      .execute();

  const POSTGRES_WRITES: readonly Write<Db>[] = [
    ['onConflict, new', 'filled', upsert],
    ['onConflict, there', 'kept', upsert],
    [
      'onConflict that also sets id, there',
      're-keyed',
      (db, label) =>
        db
          .insertInto('orders')
          .values(row(label))
          .onConflict((on) =>
            on.column('label').doUpdateSet((eb) => ({ id: eb.ref('excluded.id'), total: 2 })),
          )
          .execute(),
    ],
  ];

  const upsertOnDuplicate = (db: Db, label: string) =>
    db.insertInto('orders').values(row(label)).onDuplicateKeyUpdate({ total: 2 }).execute();

  const MARIADB_WRITES: readonly Write<Db>[] = [
    ['onDuplicateKeyUpdate, new', 'filled', upsertOnDuplicate],
    ['onDuplicateKeyUpdate, there', 'kept', upsertOnDuplicate],
    [
      'replaceInto, there',
      're-keyed',
      (db, label) => db.replaceInto('orders').values(row(label)).execute(),
    ],
    [
      'ignore() without an id',
      'stores 0',
      (db, label) => db.insertInto('orders').ignore().values(rowWithoutId(label)).execute(),
    ],
  ];

  const idIn = async (db: Db, label: string): Promise<unknown> =>
    (await db.selectFrom('orders').select('id').where('label', '=', label).executeTakeFirst())?.id;

  const nested =
    (id: 'id' | 'id as text'): Read<Db>[2] =>
    async (db, label) => {
      const lists = await db
        .selectFrom('orders as outer')
        .where('outer.label', '=', label)
        .select((eb) =>
          jsonArrayFrom(
            eb
              .selectFrom('orders')
              .where('orders.label', '=', label)
              .select((of) =>
                id === 'id' ? of.ref('id').as('id') : sql<string>`id::text`.as('id'),
              ),
          ).as('list'),
        )
        .executeTakeFirstOrThrow();
      return lists.list[0]!.id;
    };

  describeRecipe<Db>({
    name: 'Kysely',
    kind: 'postgres',
    open: ({ href }) =>
      new Kysely({
        dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: href }) }),
      }),
    close: (db) => db.destroy(),
    writes: [...WRITES, ...POSTGRES_WRITES],
    reads: [
      ['a column', 'string', idIn],
      ['jsonArrayFrom', 'rounded', nested('id')],
      ['jsonArrayFrom of id::text', 'string', nested('id as text')],
    ],
    more: (db) =>
      it('refuses to compile a row without an ID or with a number as its ID', () => {
        const into = db().insertInto('orders');
        // @ts-expect-error the ID is missing
        expect(into.values({ label: '' })).toBeDefined();
        // @ts-expect-error a number is not exact
        expect(into.values({ id: 7, label: '' })).toBeDefined();
      }),
  });

  const openMariadb =
    (options: object) =>
    ({ href }: URL): Db =>
      new Kysely({ dialect: new MysqlDialect({ pool: createPool({ uri: href, ...options }) }) });

  describeRecipe<Db>({
    name: 'Kysely',
    kind: 'mariadb',
    open: openMariadb({ supportBigNumbers: true }),
    close: (db) => db.destroy(),
    writes: [...WRITES, ...MARIADB_WRITES],
    reads: [['a column', 'string', idIn]],
  });

  describeRecipe<Db>({
    name: 'Kysely without supportBigNumbers',
    kind: 'mariadb',
    open: openMariadb({}),
    close: (db) => db.destroy(),
    writes: [],
    reads: [['a column', 'rounded', idIn]],
  });
});

/* Objection on both databases. A base model fills the IDs of every insert. */
describe('objection', () => {
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
      ({ Orders }, label) =>
        Orders.query().insertGraph([withLines(label), withLines(`${label} 2`)]),
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
    it('returns the stored ID, including after insertGraph', async () => {
      const one = await library().Orders.query().insert({ label: 'returned 1' });
      const two = await library().Orders.query().insertGraph(withLines('returned 2'));
      const ids = [one.id, two.id, ...two.lines!.map(({ id }) => id)];
      const stored = await database().ordersOf('returned');
      expect(ids.map(isMade)).toEqual([true, true, true, true]);
      expect(stored.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    });

    it('keeps a given ID', async () => {
      const { id } = await library()
        .Orders.query()
        .insert({ label: 'set', id: '9007199254740993' });
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
});
