/** MikroORM 6 on both databases, and the diff of its schema tool. */
import { expect, it } from '@jest/globals';
import {
  Collection,
  Entity,
  ManyToOne,
  OneToMany,
  PrimaryKey,
  Property,
  type EntityManager,
  type MikroORM,
  type Rel,
  type UpsertOptions,
} from '@mikro-orm/core';
import { MikroORM as MariadbORM } from '@mikro-orm/mariadb';
import {
  MikroORM as PostgresORM,
  type EntityManager as PostgresManager,
} from '@mikro-orm/postgresql';
import { currentIdMaker } from 'nestjs-snowflake';
import {
  describeRecipe,
  type Database,
  type Kind,
  type Recipe,
  type Write,
} from './support/describe-recipe.js';
import { MikroId } from './support/mikro-id.js';
import { isMade, newId } from '../odd-ids.js';

const ID = {
  type: new MikroId(),
  autoincrement: false,
  onCreate: () => currentIdMaker().nextIdString(),
};

@Entity({ tableName: 'orders' })
class Order {
  @PrimaryKey(ID)
  id!: string;

  @Property({ type: 'string', length: 120, unique: true })
  label!: string;

  @Property({ type: 'integer', default: 1 })
  total?: number;

  @OneToMany(() => Line, (line) => line.order)
  lines = new Collection<Line>(this);
}

@Entity({ tableName: 'order_lines' })
class Line {
  @PrimaryKey(ID)
  id!: string;

  @Property({ type: 'string', length: 120 })
  label!: string;

  @ManyToOne(() => Order)
  order!: Rel<Order>;
}

type Orm = MikroORM;

const emOf = (orm: Orm): EntityManager => orm.em.fork() as EntityManager;

/** The query builder of a SQL driver. The class that both drivers share has none. */
const builderOf = (orm: Orm) => (emOf(orm) as unknown as PostgresManager).createQueryBuilder(Order);

async function flushed(orm: Orm, persist: (em: EntityManager) => void): Promise<void> {
  const em = emOf(orm);
  persist(em);
  await em.flush();
}

const order = (label: string) => ({ label, total: 2 }) as Order;
const withLines = (label: string) => ({ label, lines: [{ label: `${label} line` }] }) as never;
const given = (label: string) => ({ label, total: 2, id: newId() });

const UPSERT: UpsertOptions<Order, 'total'> = {
  onConflictFields: ['label'],
  onConflictMergeFields: ['total'],
};

const WRITES: readonly Write<Orm>[] = [
  [
    'create and flush',
    'filled',
    (orm, label) => flushed(orm, (em) => em.create(Order, order(label))),
  ],
  [
    'create of a graph',
    'filled',
    (orm, label) => flushed(orm, (em) => em.create(Order, withLines(label))),
  ],
  [
    'persist of an instance',
    'filled',
    (orm, label) => flushed(orm, (em) => em.persist(Object.assign(new Order(), { label }))),
  ],
  [
    'flush of many',
    'filled',
    (orm, label) =>
      flushed(orm, (em) => [1, 2].forEach((n) => em.create(Order, order(`${label} ${n}`)))),
  ],
  [
    'transactional',
    'filled',
    (orm, label) => emOf(orm).transactional((em) => void em.create(Order, order(label))),
  ],
  // Calls that write without an entity skip onCreate.
  ['insert', 'refused', (orm, label) => emOf(orm).insert(Order, order(label))],
  [
    'insert of a row from create',
    'refused',
    (orm, label) => {
      const em = emOf(orm);
      return em.insert(em.create(Order, order(label), { persist: false }));
    },
  ],
  [
    'insert of a query builder',
    'refused',
    (orm, label) => builderOf(orm).insert(order(label)).execute(),
  ],
  [
    'insert of a query builder with an id',
    'filled',
    (orm, label) => builderOf(orm).insert(given(label)).execute(),
  ],
  ['insertMany', 'refused', (orm, label) => emOf(orm).insertMany(Order, [order(label)])],
  ['upsert', 'refused', (orm, label) => emOf(orm).upsert(Order, order(label), UPSERT)],
  ['upsert, there', 'refused', (orm, label) => emOf(orm).upsert(Order, order(label), UPSERT)],
  ['upsertMany', 'refused', (orm, label) => emOf(orm).upsertMany(Order, [order(label)], UPSERT)],
  ['insert with an id', 'filled', (orm, label) => emOf(orm).insert(Order, given(label))],
  ['insertMany with ids', 'filled', (orm, label) => emOf(orm).insertMany(Order, [given(label)])],
  ['upsert with an id', 'filled', (orm, label) => emOf(orm).upsert(Order, given(label), UPSERT)],
  [
    'upsert with an id, there',
    'kept',
    (orm, label) => emOf(orm).upsert(Order, given(label), UPSERT),
  ],
  [
    'upsert with an id that names no columns to change, there',
    're-keyed',
    (orm, label) => emOf(orm).upsert(Order, given(label), { onConflictFields: ['label'] }),
  ],
];

/** On MariaDB, MikroORM 6.6 fails after it has written the rows. */
const POSTGRES_WRITES: readonly Write<Orm>[] = [
  [
    'upsertMany with ids, there',
    'kept',
    (orm, label) => emOf(orm).upsertMany(Order, [given(label)], UPSERT),
  ],
];

const MARIADB_WRITES: readonly Write<Orm>[] = [
  [
    'upsert that ignores conflicts, without an id',
    'stores 0',
    (orm, label) => emOf(orm).upsert(Order, order(label), { onConflictAction: 'ignore' }),
  ],
];

const ownTests = (orm: () => Orm, database: () => Database) => {
  it('gives the object the stored ID', async () => {
    const em = emOf(orm());
    const made = em.create(Order, withLines('returned'));
    await em.flush();
    const ids = [made.id, made.lines[0]!.id];
    const stored = (await database().ordersOf('returned')).map(({ id }) => id);
    expect(ids.map(isMade)).toEqual([true, true]);
    expect(stored.toSorted()).toEqual(ids.toSorted());
  });

  it('finds nothing to change in the schema that it created', async () => {
    const { schema } = orm();
    await database().run('DROP TABLE order_lines');
    await database().run('DROP TABLE orders');
    await schema.createSchema();
    expect(await schema.getUpdateSchemaSQL({ wrap: false })).toBe('');
  });
};

const recipe = (kind: Kind): Recipe<Orm> => ({
  name: 'MikroORM 6',
  kind,
  open: async ({ href: clientUrl }) => {
    const options = { clientUrl, entities: [Order, Line], ensureDatabase: false, debug: false };
    const init = kind === 'postgres' ? PostgresORM.init(options) : MariadbORM.init(options);
    return (await init) as unknown as Orm;
  },
  close: (orm) => orm.close(true),
  writes: [...WRITES, ...(kind === 'postgres' ? POSTGRES_WRITES : MARIADB_WRITES)],
  reads: [
    ['findOne', 'string', async (orm, label) => (await emOf(orm).findOne(Order, { label }))?.id],
    [
      'findOne with populate',
      'string',
      async (orm, label) =>
        (await emOf(orm).findOne(Order, { label }, { populate: ['lines'] }))?.id,
    ],
  ],
  more: ownTests,
});

describeRecipe(recipe('postgres'));
describeRecipe(recipe('mariadb'));
