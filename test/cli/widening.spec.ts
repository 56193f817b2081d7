/**
 * `snowflake sql --widen` on the ten filled tables of a shop that TypeORM created with generated
 * keys. Afterwards TypeORM finds nothing to change for `@SnowflakeId()`, and inserts rows. `--back`
 * restores the schema and the rows.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { idText, SnowflakeId } from 'nestjs-snowflake/typeorm';
import {
  Column,
  CreateDateColumn,
  DataSource,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Unique,
  UpdateDateColumn,
  type Relation,
} from 'typeorm';
import { startApplication, mariadb, postgres } from '../orm/typeorm/support/databases.js';
import { command, type Answer } from './run-command.js';

/** The entities before the application adopts this library, or after. */
function shop(isAfter: boolean) {
  const number = () =>
    isAfter ? SnowflakeId({ comment: 'c' }) : PrimaryGeneratedColumn({ comment: 'c' });
  const uuid = () => (isAfter ? SnowflakeId() : PrimaryGeneratedColumn('uuid'));
  const text = () => (isAfter ? SnowflakeId() : PrimaryColumn({ type: 'varchar', length: 25 }));
  const ofCustomer = isAfter
    ? ({ type: 'bigint', transformer: idText } as const)
    : ({ type: 'uuid' } as const);

  @Entity('customer')
  class Customer {
    @uuid()
    id: string;

    @Column()
    email: string;

    @CreateDateColumn()
    createdAt: Date;

    @UpdateDateColumn()
    updatedAt: Date;
  }

  @Entity('profile')
  class Profile {
    @PrimaryColumn(ofCustomer)
    customerId: string;

    @OneToOne(() => Customer, { onDelete: 'CASCADE' })
    @JoinColumn({ name: 'customerId' })
    customer: Relation<Customer>;

    @Column()
    nick: string;
  }

  @Entity('visit')
  class Visit {
    @number()
    id: string;

    @ManyToOne(() => Profile, { nullable: false })
    profile: Relation<Profile>;
  }

  @Entity('category')
  class Category {
    @number()
    id: string;

    @Column()
    name: string;

    @ManyToOne(() => Category, { onDelete: 'SET NULL' })
    parent: Relation<Category> | null;
  }

  @Entity('product')
  class Product {
    @number()
    id: string;

    @Column()
    name: string;

    @ManyToMany(() => Category)
    @JoinTable({ name: 'product_categories' })
    categories: Relation<Category>[];
  }

  @Entity('coupon')
  class Coupon {
    @text()
    id: string;

    @Column()
    percent: number;
  }

  @Entity('order')
  class Order {
    @uuid()
    id: string;

    @Column()
    note: string;

    @ManyToOne(() => Customer, { nullable: false })
    customer: Relation<Customer>;

    @ManyToOne(() => Coupon)
    coupon: Relation<Coupon> | null;
  }

  @Entity('order_line')
  @Unique(['order', 'product'])
  class OrderLine {
    @number()
    id: string;

    @ManyToOne(() => Order, { nullable: false, onDelete: 'CASCADE' })
    order: Relation<Order>;

    @ManyToOne(() => Product, { nullable: false })
    product: Relation<Product>;
  }

  @Entity('payment')
  class Payment {
    @uuid()
    id: string;

    @OneToOne(() => Order, { nullable: false })
    @JoinColumn()
    order: Relation<Order>;
  }

  return { Customer, Profile, Visit, Category, Product, Coupon, Order, OrderLine, Payment };
}

/** The tables with a key of their own. */
const TABLES = [
  'customer',
  'visit',
  'category',
  'product',
  'coupon',
  'order',
  'order_line',
  'payment',
];

/** The references between rows, by values that no change of keys affects. */
const REFERENCES = {
  lines: `SELECT o.note, c.email, p.name, u.percent, f.nick FROM order_line l
    JOIN "order" o ON o.id = l."orderId" JOIN customer c ON c.id = o."customerId"
    JOIN product p ON p.id = l."productId" JOIN profile f ON f."customerId" = c.id
    LEFT JOIN coupon u ON u.id = o."couponId" ORDER BY o.note, p.name`,
  categories: `SELECT p.name, c.name AS category, r.name AS parent FROM product_categories j
    JOIN product p ON p.id = j."productId" JOIN category c ON c.id = j."categoryId"
    LEFT JOIN category r ON r.id = c."parentId" ORDER BY p.name, c.name`,
  payments: `SELECT o.note FROM payment y JOIN "order" o ON o.id = y."orderId" ORDER BY o.note`,
  visits: `SELECT v.id, f.nick, c."updatedAt" FROM visit v JOIN profile f ON f."customerId" = v."profileCustomerId"
    JOIN customer c ON c.id = f."customerId" ORDER BY v.id`,
};

const SCHEMA = [
  `SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default,
    identity_generation FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`,
  `SELECT conrelid::regclass::text AS of, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`,
  `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
];

type Rows = Record<string, unknown>[];

describe.each([postgres, mariadb])('a shop on $name', (driver) => {
  const isPostgres = driver === postgres;
  const before = shop(false);
  let database: DataSource;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const opened = await driver.open();
    close = opened.close;
    const entities = Object.values(before);
    database = new DataSource({ ...opened.options, entities, synchronize: true });
    await database.initialize();
    await fill();
  });
  afterAll(async () => {
    await database?.destroy();
    await close?.();
  });

  const query = (sql: string): Promise<Rows> =>
    database.query(isPostgres ? sql : sql.replaceAll('"', '`'));

  async function fill(): Promise<void> {
    const saved = <T extends object>(target: new () => T, rows: object[]) =>
      database.getRepository(target).save(rows as T[]);
    const numbers = Array.from({ length: 40 }, (_, at) => at);
    const of = <T>(list: readonly T[], at: number): T => list[at % list.length]!;
    const customers = await saved(
      before.Customer,
      numbers.slice(0, 7).map((at) => ({
        email: `${at}@shop.test`,
        createdAt: new Date(Date.UTC(2020, 0, 31 - at)),
        updatedAt: new Date(Date.UTC(2021, 0, 1)),
      })),
    );
    const profiles = await saved(
      before.Profile,
      customers.map(({ id, email }) => ({ customerId: id, nick: `nick of ${email}` })),
    );
    await saved(
      before.Visit,
      numbers.map((at) => ({ profile: of(profiles, at) })),
    );
    const roots = await saved(before.Category, [{ name: 'books' }, { name: 'games' }]);
    const children = await saved(
      before.Category,
      numbers.slice(0, 5).map((at) => ({ name: `c${at}`, parent: of(roots, at) })),
    );
    const products = await saved(
      before.Product,
      numbers.slice(0, 9).map((at) => ({
        name: `p${at}`,
        categories: [of(children, at), of(children, at + 1), of(roots, at)],
      })),
    );
    const coupons = await saved(
      before.Coupon,
      [10, 20].map((percent) => ({ id: `clx${percent}abcdefghij0123456789`, percent })),
    );
    const orders = await saved(
      before.Order,
      numbers.map((at) => ({
        note: `order ${at}`,
        customer: of(customers, at),
        coupon: of([null, ...coupons], at),
      })),
    );
    await saved(
      before.OrderLine,
      orders.flatMap((order, at) =>
        [3, 5].map((step) => ({ order, product: of(products, at + step) })),
      ),
    );
    await saved(
      before.Payment,
      orders.slice(0, 25).map((order) => ({ order })),
    );
  }

  async function references(): Promise<Record<string, unknown[]>> {
    const all = Object.entries(REFERENCES).map(async ([name, sql]) => {
      // A driver returns a bigint as a string.
      const found = await query(sql);
      return [name, found.map((row) => Object.values(row).map(String))];
    });
    return Object.fromEntries(await Promise.all(all));
  }

  async function rows(): Promise<Record<string, unknown>> {
    const tables = [...TABLES, 'profile', 'product_categories'];
    const all = tables.map(async (name) => [
      name,
      await query(`SELECT * FROM "${name}" ORDER BY 1, 2`),
    ]);
    return Object.fromEntries(await Promise.all(all));
  }

  async function schema(): Promise<unknown> {
    if (isPostgres) return Promise.all(SCHEMA.map((sql) => query(sql)));
    const tables = [...TABLES, 'profile', 'product_categories'].map(async (name) => {
      const [made] = await query(`SHOW CREATE TABLE "${name}"`);
      return String(made!['Create Table']).replace(/ AUTO_INCREMENT=\d+/, '');
    });
    return Promise.all(tables);
  }

  const widen = (tables: readonly string[], ...args: string[]): Promise<Answer> => {
    const { url } = database.options as { url?: string };
    const named = tables.flatMap((name) => ['--table', name]);
    return command(['sql', '--widen', ...named, ...args], { env: { SNOWFLAKE_URL: url! } });
  };

  async function printed(...args: string[]): Promise<string[]> {
    const answer = await widen(TABLES, ...args);
    expect(answer).toMatchObject({ code: 0, err: '' });
    return answer.out.split(/;\n/).filter((sql) => sql !== '');
  }

  async function run(statements: readonly string[]): Promise<void> {
    const runner = database.createQueryRunner();
    try {
      for (const sql of statements) await runner.query(sql);
    } catch (error) {
      if (isPostgres) await runner.query('ROLLBACK');
      throw error;
    } finally {
      await runner.release();
    }
  }

  it('requires the names of tables with a key of their own', async () => {
    for (const [tables, said] of [
      [[], 'Name each table'],
      [['profile'], /profile.customerId refers to (public\.)?customer: name that table too/],
      [['product_categories'], /product_categories has no key .*customer \(/],
    ] as const) {
      const { code, out, err } = await widen(tables);
      expect([code, out]).toEqual([2, '']);
      expect(err.replaceAll(/\s+/g, ' ')).toMatch(said);
    }
  });

  it('converts the keys and restores them without losing a row or a reference', async () => {
    const was = { schema: await schema(), rows: await rows(), references: await references() };
    const counts = Object.values(was.references).map((list) => list.length);
    expect(counts).toEqual([80, 27, 25, 40]);
    const [forward, back] = [await printed(), await printed('--back')];

    await run(forward);
    expect(await references()).toEqual(was.references);
    // The rows are numbered in the order of their time.
    const emails = await query(`SELECT c.email, m.old_id FROM customer c
      JOIN customer_old_ids m ON m.id = c.id ORDER BY c.id`);
    const given = (was.rows['customer'] as { id: string; email: string }[]).toSorted((a, b) =>
      b.email.localeCompare(a.email),
    );
    expect(emails).toEqual(given.map(({ id, email }) => ({ email, old_id: id })));
    const types = await query(`SELECT DISTINCT data_type AS type FROM information_schema.columns
      WHERE table_schema = ${isPostgres ? `'public'` : 'DATABASE()'} AND (column_name LIKE '%Id%'
      OR column_name = 'id') AND table_name NOT LIKE '%old_ids'`);
    expect(types).toEqual([{ type: 'bigint' }]);
    await insertWithUs();

    // If an ID does not fit, PostgreSQL rolls back and MariaDB does not begin.
    const wide = await schema();
    await expect(run(back)).rejects.toThrow(isPostgres ? 'integer out of range' : 'Out of range');
    expect(await schema()).toEqual(wide);
    await query(`DELETE FROM order_line WHERE "orderId" > ${2n ** 53n}`);
    await query(`DELETE FROM product WHERE id > ${2n ** 53n}`);
    await run(back);
    expect(await schema()).toEqual(was.schema);
    // A newer row gets a key of the old type.
    expect(
      await query(`SELECT o.note, c.email FROM "order" o JOIN customer c
      ON c.id = o."customerId" WHERE o.note = 'new'`),
    ).toEqual([{ note: 'new', email: 'new@shop.test' }]);
    await query(`DELETE FROM "order" WHERE note = 'new'`);
    await query(`DELETE FROM customer WHERE email = 'new@shop.test'`);
    expect(await rows()).toEqual(was.rows);
    await database.getRepository(before.Product).save({ name: 'p-new' });
  });

  const KEYS = isPostgres
    ? ['int GENERATED ALWAYS AS IDENTITY', 'smallserial', 'bigserial', 'text', 'char(40)']
    : ['bigint unsigned AUTO_INCREMENT', 'uuid DEFAULT uuid()', 'binary(16)', 'char(36)'];

  it.each(KEYS)('converts a key of type %s and restores it', async (type) => {
    const bare = type
      .replace('smallserial', 'smallint')
      .replace('bigserial', 'bigint')
      .split(' ')[0];
    await query(`CREATE TABLE node (id ${type} PRIMARY KEY, label text)`);
    await query(`CREATE TABLE leaf (node ${/unsigned/.test(type) ? 'bigint unsigned' : bare}
      REFERENCES node (id) ON UPDATE CASCADE ON DELETE SET NULL)`);
    const isNumber = /int|serial/.test(type);
    const uuid = isPostgres
      ? 'gen_random_uuid()'
      : type === 'binary(16)'
        ? 'UNHEX(MD5(n))'
        : 'UUID()';
    const numbers = isPostgres ? 'generate_series(5, 9) n' : '(SELECT seq AS n FROM seq_5_to_9) s';
    const always = /ALWAYS/.test(type) ? 'OVERRIDING SYSTEM VALUE' : '';
    await query(
      `INSERT INTO node (id, label) ${always} SELECT ${isNumber ? 'n' : uuid}, n FROM ${numbers}`,
    );
    await query('INSERT INTO leaf SELECT id FROM node');
    const columns = () =>
      query(
        `SELECT table_name, column_name, column_default, ${
          isPostgres ? 'data_type, identity_generation' : 'column_type, extra'
        } FROM information_schema.columns WHERE table_name IN ('node', 'leaf') ORDER BY 1, 2`,
      );
    const joined = 'SELECT label, id, node FROM node JOIN leaf ON node = id ORDER BY label';
    const was = [await columns(), await query(joined)];
    const sql = await Promise.all([[], ['--back']].map((args) => widen(['node'], ...args)));
    const [forward, back] = sql.map(({ out }) => out.split(/;\n/).filter((one) => one !== ''));
    await run(forward!);
    const rows = (await query(joined)).map((row) => Object.values(row).map(String));
    const ids = [1, 2, 3, 4, 5].map((n) => (isNumber ? n + 4 : n)).map(String);
    expect(new Set(rows.map(([, id]) => id))).toEqual(new Set(ids));
    expect(rows.every(([, id, node]) => id === node)).toBe(true);
    await run(back!);
    expect([await columns(), await query(joined)]).toEqual(was);
    if (isNumber) await query(`INSERT INTO node (label) VALUES ('x')`);
    expect(await query(`SELECT CAST(id AS char(3)) AS id FROM node WHERE label = 'x'`)).toEqual(
      isNumber ? [{ id: '10 '.slice(0, isPostgres ? 3 : 2) }] : [],
    );
    await query('DROP TABLE leaf');
    await query('DROP TABLE node');
  });

  it('does not treat strings of digits as numbers', async () => {
    await query('CREATE TABLE digits (id varchar(20) PRIMARY KEY)');
    await query(`INSERT INTO digits VALUES ('17')`);
    const { code, err } = await widen(['digits']);
    expect([code, err.includes('digits.id are digits')]).toEqual(
      isPostgres ? [0, false] : [2, true],
    );
    await query('DROP TABLE digits');
  });

  /** Inserts rows with `@SnowflakeId()`; TypeORM has nothing to change in the schema. */
  async function insertWithUs(): Promise<void> {
    const after = shop(true);
    const options = { ...database.options, entities: Object.values(after), synchronize: false };
    const application = await startApplication({
      imports: [TypeOrmModule.forRoot(options as Parameters<typeof TypeOrmModule.forRoot>[0])],
    });
    try {
      const ours = application.get<DataSource>(getDataSourceToken());
      const { upQueries } = await ours.driver.createSchemaBuilder().log();
      expect(upQueries.map((one) => one.query)).toEqual([]);
      const customer = await ours.getRepository(after.Customer).save({ email: 'new@shop.test' });
      const order = await ours.getRepository(after.Order).save({ note: 'new', customer });
      const product = await ours.getRepository(after.Product).save({ name: 'new' });
      const line = await ours.getRepository(after.OrderLine).save({ order, product });
      expect(
        await ours
          .getRepository(after.OrderLine)
          .findOne({ where: { id: line.id }, relations: { order: { customer: true } } }),
      ).toMatchObject({ order: { customer } });
    } finally {
      await application.close();
    }
  }
});
