/**
 * Graphs of new rows in one `save()`. With generated keys, TypeORM inserts an optional reference as
 * NULL and updates it later. With `@SnowflakeId()`, each row has its ID before the first INSERT, so
 * the order of TypeORM's statements decides. The graph is saved as given, or the message of the
 * foreign key names the solution.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hookDataSource, SnowflakeId } from 'nestjs-snowflake/typeorm';
import {
  Column,
  DataSource,
  Entity,
  ManyToOne,
  OneToMany,
  Tree,
  TreeChildren,
  TreeParent,
  type Relation,
  type RelationOptions,
} from 'typeorm';
import {
  mariadb,
  postgres,
  sqljs,
  startWithDatabase,
  type IdType,
  type Running,
} from './support/databases.js';

function graph(type: IdType, way: RelationOptions = {}) {
  @Entity('address')
  class Address {
    @SnowflakeId({ type })
    id: string;

    @Column({ default: 'street' })
    street: string;
  }

  @Entity('customer')
  class Customer {
    @SnowflakeId({ type })
    id: string;

    @Column({ default: 'name' })
    name: string;
  }

  @Entity('orders')
  class Order {
    @SnowflakeId({ type })
    id: string;

    @Column()
    note: string;

    @ManyToOne(() => Customer, { nullable: false, cascade: true })
    customer: Relation<Customer>;

    @ManyToOne(() => Address, { cascade: true, ...way })
    address: Relation<Address> | null;
  }

  @Entity('category')
  class Category {
    @SnowflakeId({ type })
    id: string;

    @Column()
    name: string;

    @ManyToOne(() => Category, (one) => one.children, { cascade: ['insert'] })
    parent: Relation<Category> | null;

    @OneToMany(() => Category, (one) => one.parent, { cascade: ['insert'] })
    children: Relation<Category>[];
  }

  const trees = (['closure-table', 'materialized-path', 'nested-set'] as const).map((kind) => {
    @Entity(`tree_${kind.replace('-', '_')}`)
    @Tree(kind)
    class Node {
      @SnowflakeId({ type })
      id: string;

      @Column()
      name: string;

      @TreeParent()
      parent: Relation<Node> | null;

      @TreeChildren({ cascade: true })
      children: Relation<Node>[];
    }
    return Node;
  });

  return { Address, Customer, Order, Category, trees };
}

const LATER = /would insert later.*Save that row first.*nullable: false.*deferrable/;

describe.each([postgres, mariadb, sqljs])('$name', (driver) => {
  const { Address, Customer, Order, Category, trees } = graph(driver.idType);
  const isMariadb = driver === mariadb;
  let running: Running;
  let database: DataSource;

  beforeAll(async () => {
    running = await startWithDatabase(driver, [Address, Customer, Order, Category, ...trees]);
    database = running.dataSource;
  }, 60_000);
  afterAll(() => running?.stop());

  const orders = () => database.getRepository(Order);
  const categories = () => database.getRepository(Category);
  const address = { street: 'new' };

  async function counts(): Promise<number[]> {
    const all = [Address, Customer, Order, Category].map((one) =>
      database.getRepository(one).count(),
    );
    return Promise.all(all);
  }

  describe.each(['plain', 'instances'])('an order with a new address, %s', (kind) => {
    const asked = (customer: { id?: string }) => {
      const given = { note: 'order', customer, address: { ...address } };
      return kind === 'plain' ? given : orders().create(given);
    };

    it.each(['saved', 'new'])(
      'and a %s customer is refused, and nothing is saved',
      async (which) => {
        const customer = which === 'new' ? {} : await database.getRepository(Customer).save({});
        const before = await counts();
        await expect(orders().save(asked(customer))).rejects.toThrow(LATER);
        expect(await counts()).toEqual(before);
      },
    );
  });

  it('saves an order after its address', async () => {
    const saved = await database.getRepository(Address).save({ ...address });
    const order = await orders().save({ note: 'after', customer: {}, address: saved });
    const relations = { address: true, customer: true };
    const [read] = await orders().find({ where: { id: order.id }, relations });
    expect(read).toMatchObject({ address: saved, customer: { id: order.customer.id } });
  });

  it.each<[string, RelationOptions]>([
    ['needed', { nullable: false }],
    ...(isMariadb
      ? []
      : [['deferrable', { deferrable: 'INITIALLY DEFERRED' }] as [string, RelationOptions]]),
  ])('saves an order with an address whose relation is %s', async (_name, way) => {
    const own = graph(driver.idType, way);
    const { options, close } = await driver.open();
    const entities = [own.Address, own.Customer, own.Order];
    const other = hookDataSource(new DataSource({ ...options, entities, synchronize: true }));
    try {
      const repository = (await other.initialize()).getRepository(own.Order);
      const order = await repository.save({ note: 'order', customer: {}, address: { ...address } });
      const [read] = await repository.find({
        where: { id: order.id },
        relations: { address: true },
      });
      expect(read).toMatchObject({ address: { id: order.address!.id, street: 'new' } });
    } finally {
      await other.destroy();
      await close();
    }
  });

  // In one statement. PostgreSQL and SQLite check its rows at the end, MariaDB one by one.
  it.each<[string, () => object]>([
    ['a category with a new parent', () => ({ name: 'c', parent: { name: 'p' } })],
    [
      'a category with a new parent and its parent',
      () => ({ name: 'c', parent: { name: 'p', parent: { name: 'q' } } }),
    ],
    [
      'a child before its parent in one list',
      () => {
        const parent = categories().create({ name: 'p' });
        return [categories().create({ name: 'c', parent }), parent];
      },
    ],
  ])('saves %s, unless MariaDB refuses the order of the rows', async (_name, made) => {
    const saving = categories().save(made() as never) as Promise<unknown>;
    const parent = saving.then(
      (saved) => ([saved].flat()[0] as { parent: { name: string } }).parent.name,
      (error: Error) => error.message,
    );
    expect(await parent).toMatch(isMariadb ? LATER : /^p$/);
  });

  it('saves a category with new children, three generations', async () => {
    const root = { name: 'r', children: [{ name: 's', children: [{ name: 't' }] }] };
    const { id } = await categories().save(root as never as InstanceType<typeof Category>);
    const [read] = await categories().find({
      where: { id },
      relations: { children: { children: true } },
    });
    expect(read).toMatchObject(root);
  });

  it.each(trees)('saves a tree with new branches: $name', async (Node) => {
    const nodes = database.getRepository(Node);
    const made = { name: 'r', children: [{ name: 's', children: [{ name: 't' }] }] };
    const { id } = await nodes.save(nodes.create(made));
    const relations = { children: { children: true } };
    expect(await nodes.findOne({ where: { id }, relations })).toMatchObject(made);
  });

  it('adds no hint if the rows are not in the same save()', async () => {
    const asked = orders().insert({ note: 'lost', customer: { id: '5' } });
    await expect(asked).rejects.toThrow(/^(?!.*would insert later).*foreign key/is);
  });
});
