/** Sequelize 6 on both databases, by decorators and by init(). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataTypes, Model as PlainModel, type QueryInterface } from 'sequelize';
import {
  BelongsTo,
  Column,
  DataType,
  ForeignKey,
  HasMany,
  Model,
  Sequelize,
  Table,
} from 'sequelize-typescript';
import { currentIdMaker, startSnowflake, type SnowflakeScriptOptions } from 'nestjs-snowflake';
import knex, { type Knex } from 'knex';
import {
  describeRecipe,
  type Database,
  type Kind,
  type Recipe,
  type Write,
  openDatabase,
} from './support/describe-recipe.js';
import { isMade, newId, LAYOUT, WORKER_ID } from '../odd-ids.js';

const ID = {
  type: DataType.BIGINT,
  primaryKey: true,
  allowNull: false,
  autoIncrement: false,
  defaultValue: () => currentIdMaker().nextIdString(),
};

@Table({ tableName: 'orders', timestamps: false })
class Order extends Model {
  @Column(ID)
  declare id: string;

  @Column({ type: DataType.STRING(120), allowNull: false, unique: true })
  declare label: string;

  @Column({ type: DataType.INTEGER, allowNull: false, defaultValue: 1 })
  declare total: number;

  @HasMany(() => Line)
  declare lines: Line[];
}

@Table({ tableName: 'order_lines', timestamps: false })
class Line extends Model {
  @Column(ID)
  declare id: string;

  @ForeignKey(() => Order)
  @Column({ type: DataType.BIGINT, allowNull: false, field: 'order_id' })
  declare orderId: string;

  @Column({ type: DataType.STRING(120), allowNull: false })
  declare label: string;

  @BelongsTo(() => Order)
  declare order: Order;
}

/** A model without decorators. */
class PlainOrder extends PlainModel {
  declare id: string;
}

const withLines = (label: string) => ({ label, lines: [{ label: `${label} line` }] });

const WRITES: readonly Write<Sequelize>[] = [
  ['create', 'filled', (_, label) => Order.create({ label })],
  ['build and save', 'filled', (_, label) => Order.build({ label }).save()],
  ['create of a model by init()', 'filled', (_, label) => PlainOrder.create({ label })],
  ['bulkCreate', 'filled', (_, label) => Order.bulkCreate([{ label }, { label: `${label} 2` }])],
  ['findOrCreate', 'filled', (_, label) => Order.findOrCreate({ where: { label } })],
  ['findCreateFind', 'filled', (_, label) => Order.findCreateFind({ where: { label } })],
  [
    'create with include',
    'filled',
    (_, label) => Order.create(withLines(label), { include: Line }),
  ],
  [
    'bulkCreate with include',
    'filled',
    (_, label) => Order.bulkCreate([withLines(label)], { include: [{ model: Line, as: 'lines' }] }),
  ],
  [
    '$create of an association',
    'filled',
    async (_, label) => {
      const order = await Order.create({ label });
      await order.$create('line', { label: `${label} line` });
    },
  ],
  [
    'a transaction',
    'filled',
    (db, label) => db.transaction((transaction) => Order.create({ label }, { transaction })),
  ],
  ['create with hooks: false', 'filled', (_, label) => Order.create({ label }, { hooks: false })],
  ['upsert, new', 'filled', (_, label) => Order.upsert({ label, total: 2 })],
  ['upsert, there', 'kept', (_, label) => Order.upsert({ label, total: 2 })],
  [
    'bulkCreate with updateOnDuplicate, new',
    'filled',
    (_, label) => Order.bulkCreate([{ label, total: 2 }], { updateOnDuplicate: ['total'] }),
  ],
  [
    'bulkCreate with updateOnDuplicate, there',
    'kept',
    (_, label) =>
      Order.bulkCreate([{ label, total: 2 }], {
        updateOnDuplicate: ['total'],
        conflictAttributes: ['label'],
      }),
  ],
  [
    'bulkCreate with id in updateOnDuplicate, there',
    're-keyed',
    (_, label) =>
      Order.bulkCreate([{ label, total: 2 }], {
        updateOnDuplicate: ['id', 'total'],
        conflictAttributes: ['label'],
      }),
  ],
  ['create with id: null', 'throws', (_, label) => Order.create({ id: null, label })],
  [
    'query()',
    'refused',
    (db, label) => db.query('INSERT INTO orders (label) VALUES (?)', { replacements: [label] }),
  ],
  [
    'bulkInsert of a seed, without an id',
    'refused',
    (db, label) => db.getQueryInterface().bulkInsert('orders', [{ label }]),
  ],
  [
    'bulkInsert of a seed',
    'filled',
    (db, label) => db.getQueryInterface().bulkInsert('orders', [{ id: newId(), label }]),
  ],
];

const ownTests = (db: () => Sequelize, database: () => Database) => {
  it('gives the object the stored ID', async () => {
    const order = await Order.create(withLines('returned'), { include: Line });
    const stored = (await database().ordersOf('returned')).map(({ id }) => id);
    expect([order.id, order.lines[0]!.id].map(isMade)).toEqual([true, true]);
    expect(stored.toSorted()).toEqual([order.id, order.lines[0]!.id].toSorted());
  });

  it('may return an object with another ID than the row after an upsert', async () => {
    const { id } = await Order.create({ label: 'upserted' });
    const [order] = await Order.upsert({ label: 'upserted', total: 2 });
    expect(await database().ordersOf('upserted')).toMatchObject([{ id, total: 2 }]);
    // Only PostgreSQL returns the row.
    expect(order.id === id).toBe(database().kind === 'postgres');
  });

  it('gives the column no database default, even after sync({ alter: true })', async () => {
    await db().sync({ alter: true });
    const { id } = await db().getQueryInterface().describeTable('orders');
    expect(id).toMatchObject({ type: expect.stringMatching(/^BIGINT/), allowNull: false });
    expect([id!.defaultValue ?? null, id!.autoIncrement ?? false]).toEqual([null, false]);
  });
};

const recipe = (kind: Kind, dialect: 'postgres' | 'mysql' | 'mariadb'): Recipe<Sequelize> => ({
  name: `Sequelize (${dialect})`,
  kind,
  open: ({ hostname, port, username, pathname }) => {
    const database = pathname.slice(1);
    const options = { dialect, host: hostname, port: Number(port), username, database };
    const db = new Sequelize({ ...options, logging: false, models: [Order, Line] });
    PlainOrder.init(
      { id: ID, label: DataTypes.STRING(120), total: DataTypes.INTEGER },
      { sequelize: db, tableName: 'orders', timestamps: false },
    );
    return db;
  },
  close: (db) => db.close(),
  writes: WRITES,
  reads: [
    ['findOne', 'string', async (_, label) => (await Order.findOne({ where: { label } }))?.id],
    [
      'findAll with raw and include',
      'string',
      async (_, label) =>
        (await Order.findAll({ where: { label }, include: Line, raw: true }))[0]?.id,
    ],
  ],
  more: ownTests,
});

describeRecipe(recipe('postgres', 'postgres'));
describeRecipe(recipe('mariadb', 'mysql'));
describeRecipe(recipe('mariadb', 'mariadb'));

// Seeds that start their own generator, as the command lines of Sequelize and Knex run them.
describe('seeds', () => {
  const OPTIONS: SnowflakeScriptOptions = { workerId: WORKER_ID, layout: LAYOUT };

  async function up(queryInterface: QueryInterface): Promise<void> {
    await using snowflake = await startSnowflake(OPTIONS);
    const id = snowflake.ids.nextIdString();
    await queryInterface.bulkInsert('orders', [{ id, label: 'by Sequelize' }]);
  }

  async function seed(db: Knex): Promise<void> {
    await using snowflake = await startSnowflake(OPTIONS);
    await db('orders').insert({ id: snowflake.ids.nextIdString(), label: 'by Knex' });
  }

  let database: Database;
  beforeAll(async () => {
    database = await openDatabase('postgres');
  });
  afterAll(() => database.close());

  it.each([
    [
      'by Sequelize',
      async (url: string) => {
        const sequelize = new Sequelize(url, { logging: false });
        await up(sequelize.getQueryInterface());
        await sequelize.close();
      },
    ],
    [
      'by Knex',
      async (url: string) => {
        const db = knex({ client: 'pg', connection: url });
        const seedSource = { getSeeds: async () => ['orders'], getSeed: async () => ({ seed }) };
        await db.seed.run({ seedSource });
        await db.destroy();
      },
    ],
  ])('%s give their rows an ID', async (label, run) => {
    await run(database.url.href);
    expect((await database.ordersOf(label)).map(({ id }) => isMade(id))).toEqual([true]);
  });
});
