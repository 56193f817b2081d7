/** Kysely on both databases. */
import { expect, it } from '@jest/globals';
import {
  Kysely,
  MysqlDialect,
  PostgresDialect,
  sql,
  type Generated,
  type Insertable,
} from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { createPool } from 'mysql2';
import pg from 'pg';
import { describeRecipe, type Read, type Write } from './support/describe-recipe.js';
import { newId } from './support/made-ids.js';

interface Tables {
  orders: { id: string; label: string; total: Generated<number> };
}
type Db = Kysely<Tables>;

const row = (label: string) => ({ id: newId(), label, total: 2 });
/** As somebody writes it who has silenced the compiler. */
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
            .select((of) => (id === 'id' ? of.ref('id').as('id') : sql<string>`id::text`.as('id'))),
        ).as('list'),
      )
      .executeTakeFirstOrThrow();
    return lists.list[0]!.id;
  };

describeRecipe<Db>({
  name: 'Kysely',
  kind: 'postgres',
  open: ({ href }) =>
    new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: href }) }) }),
  close: (db) => db.destroy(),
  writes: [...WRITES, ...POSTGRES_WRITES],
  reads: [
    ['a column', 'string', idIn],
    ['jsonArrayFrom', 'rounded', nested('id')],
    ['jsonArrayFrom of id::text', 'string', nested('id as text')],
  ],
  more: (db) =>
    it('compiles no row without an id, and none whose id is a number', () => {
      const into = db().insertInto('orders');
      // @ts-expect-error the id is missing
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
