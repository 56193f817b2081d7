/**
 * Every way in which Prisma inserts rows, with the resulting row count of each table.
 */
import type { Shop, Table } from './shop.js';

export interface FilledPath {
  readonly title: string;
  readonly rows: Partial<Record<Table, number>>;
  /** MariaDB has no statement for this path. */
  readonly onlyPostgres?: true;
  readonly write: (shop: Shop) => Promise<unknown>;
}

let emails = 0;
export const newCustomer = () => ({ email: `customer-${emails++}@shop.test` });

const line = (product: string, more: object = {}) => ({ product, ...more });
const steel = { material: 'steel' };
const parts = { create: [steel, { material: 'glass' }] };

const existing = async (shop: Shop) => {
  const { id, email } = await shop.customer.create({ data: newCustomer() });
  return { where: { id }, id, email: email as string };
};

/** An update of an existing customer. */
const updated =
  (data: object) =>
  async (shop: Shop): Promise<unknown> => {
    const { where } = await existing(shop);
    return shop.customer.update({ where, data });
  };

/** An update of an existing customer who has a profile. */
const updatedProfile =
  (profile: object) =>
  async (shop: Shop): Promise<unknown> => {
    const data = { ...newCustomer(), profile: { create: {} } };
    const { id } = await shop.customer.create({ data });
    return shop.customer.update({ where: { id }, data: { profile } });
  };

/** An update of an existing order with one line, selected by that line. */
const updatedLine =
  (lines: (where: object) => object) =>
  async (shop: Shop): Promise<unknown> => {
    const order = await shop.order.create({ data: { lines: { create: line('a') } } });
    const [{ number } = { number: 0n }] = await shop.line.findMany();
    const where = { orderId_number: { orderId: order.id, number } };
    return shop.order.update({ where: { id: order.id }, data: { lines: lines(where) } });
  };

const created = (data: object) => (shop: Shop) =>
  shop.customer.create({ data: { ...newCustomer(), ...data } });

const orderCreated = (data: object) => (shop: Shop) => shop.order.create({ data });

export const FILLED_PATHS: readonly FilledPath[] = [
  { title: 'create', rows: { customer: 1 }, write: created({}) },
  { title: 'create without data', rows: { shop_order: 1 }, write: (shop) => shop.order.create() },
  { title: 'create of an empty row', rows: { shop_order: 1 }, write: orderCreated({}) },
  {
    title: 'create with autoincrement(), uuid() and a default of the database',
    rows: { foreigner: 1 },
    write: (shop) => shop.foreign.create({ data: {} }),
  },
  {
    title: 'createMany',
    rows: { customer: 3 },
    write: (shop) => shop.customer.createMany({ data: [0, 0, 0].map(newCustomer) }),
  },
  {
    title: 'createMany of one',
    rows: { customer: 1 },
    write: (shop) => shop.customer.createMany({ data: newCustomer() }),
  },
  {
    title: 'createMany of 5,000',
    rows: { customer: 5000 },
    write: (shop) => shop.customer.createMany({ data: Array.from({ length: 5000 }, newCustomer) }),
  },
  {
    title: 'createMany that skips duplicates',
    rows: { customer: 2 },
    write: async (shop) => {
      const { email } = await existing(shop);
      const data = [{ email }, newCustomer()];
      return shop.customer.createMany({ data, skipDuplicates: true });
    },
  },
  {
    title: 'createManyAndReturn',
    rows: { customer: 2 },
    onlyPostgres: true,
    write: (shop) => shop.customer.createManyAndReturn({ data: [0, 0].map(newCustomer) }),
  },
  {
    title: 'upsert that inserts',
    rows: { customer: 1, shop_order: 1 },
    write: (shop) => {
      const customer = newCustomer();
      const create = { ...customer, orders: { create: {} } };
      return shop.customer.upsert({ where: customer, create, update: { name: 'x' } });
    },
  },
  {
    title: 'upsert that updates, and creates below the row',
    rows: { customer: 1, shop_order: 2 },
    write: async (shop) => {
      const { where, email } = await existing(shop);
      const update = { orders: { create: [{}, {}] } };
      return shop.customer.upsert({ where, create: { email }, update });
    },
  },
  {
    title: 'nested create',
    rows: { customer: 1, shop_order: 1 },
    write: created({ orders: { create: { note: 'a' } } }),
  },
  {
    title: 'nested create of a list',
    rows: { customer: 1, shop_order: 2 },
    write: created({ orders: { create: [{ note: 'a' }, { note: 'b' }] } }),
  },
  {
    title: 'nested create three levels deep, with composite keys',
    rows: { customer: 1, shop_order: 1, line: 2, part: 4 },
    write: created({
      orders: { create: { lines: { create: [line('a', { parts }), line('b', { parts })] } } },
    }),
  },
  {
    title: 'nested create of a parent, from the child',
    rows: { customer: 1, shop_order: 1, line: 1, part: 1 },
    write: (shop) => {
      const customer = { create: newCustomer() };
      const order = { create: { customer } };
      const data = { ...steel, line: { create: line('a', { order }) } };
      return shop.part.create({ data });
    },
  },
  {
    title: 'nested create along a self-relation',
    rows: { customer: 4 },
    write: (shop) => {
      const invited = { create: [newCustomer(), newCustomer()] };
      const data = { ...newCustomer(), invited, invitedBy: { create: newCustomer() } };
      return shop.customer.create({ data });
    },
  },
  {
    title: 'nested create of one to one, with text keys below',
    rows: { customer: 1, profile: 1, badge: 1 },
    write: created({ profile: { create: { badges: { create: { title: 'first' } } } } }),
  },
  {
    title: 'nested create of many to many',
    rows: { shop_order: 1, tag: 2 },
    write: orderCreated({ tags: { create: [{ label: 'a' }, { label: 'b' }] } }),
  },
  {
    title: 'nested createMany',
    rows: { customer: 1, shop_order: 2 },
    write: created({ orders: { createMany: { data: [{ note: 'a' }, { note: 'b' }] } } }),
  },
  {
    title: 'nested createMany of one, two levels deep',
    rows: { customer: 1, shop_order: 1, line: 1 },
    write: created({ orders: { create: { lines: { createMany: { data: line('a') } } } } }),
  },
  {
    title: 'nested connectOrCreate that creates',
    rows: { shop_order: 1, tag: 2 },
    write: orderCreated({
      tags: {
        connectOrCreate: ['a', 'b'].map((label) => ({ where: { label }, create: { label } })),
      },
    }),
  },
  {
    title: 'nested connectOrCreate that connects',
    rows: { shop_order: 1, customer: 1 },
    write: async (shop) => {
      const { where, email } = await existing(shop);
      const customer = { connectOrCreate: { where, create: { email } } };
      return shop.order.create({ data: { customer } });
    },
  },
  {
    title: 'nested connectOrCreate below a createMany of its parent',
    rows: { customer: 1, shop_order: 1, tag: 1 },
    write: created({
      orders: {
        create: [{ tags: { connectOrCreate: { where: { label: 'a' }, create: { label: 'a' } } } }],
      },
    }),
  },
  {
    title: 'create in an update',
    rows: { customer: 1, shop_order: 1, line: 1 },
    write: updated({ orders: { create: { lines: { create: line('a') } } } }),
  },
  {
    title: 'createMany in an update',
    rows: { customer: 1, shop_order: 2 },
    write: updated({ orders: { createMany: { data: [{}, {}] } } }),
  },
  {
    title: 'connectOrCreate in an update',
    rows: { customer: 1, shop_order: 1 },
    write: updated({ orders: { connectOrCreate: { where: { id: 1n }, create: {} } } }),
  },
  {
    title: 'upsert in an update, that inserts',
    rows: { customer: 1, shop_order: 1 },
    write: updated({ orders: { upsert: { where: { id: 1n }, create: {}, update: {} } } }),
  },
  {
    title: 'upsert of one to one in an update, that inserts',
    rows: { customer: 1, profile: 1, badge: 1 },
    write: updated({
      profile: { upsert: { create: { badges: { create: { title: 'a' } } }, update: {} } },
    }),
  },
  {
    title: 'upsert of one to one in an update, that updates and creates below',
    rows: { customer: 1, profile: 1, badge: 1 },
    write: updatedProfile({
      upsert: { create: {}, update: { badges: { create: { title: 'a' } } } },
    }),
  },
  {
    title: 'create below an update below an update',
    rows: { shop_order: 1, line: 1, part: 2 },
    write: updatedLine((where) => ({ update: { where, data: { parts } } })),
  },
  {
    title: 'create below a list of updates below an update',
    rows: { shop_order: 1, line: 1, part: 2 },
    write: updatedLine((where) => ({ update: [{ where, data: { parts } }] })),
  },
  {
    title: 'create below an upsert below an update',
    rows: { shop_order: 1, line: 1, part: 2 },
    write: updatedLine((where) => ({
      upsert: { where, create: line('b'), update: { product: 'c', parts } },
    })),
  },
  {
    title: 'create below an update of one to one, by its fields',
    rows: { customer: 1, profile: 1, badge: 1 },
    write: updatedProfile({ update: { badges: { create: { title: 'a' } } } }),
  },
  {
    title: 'create below an update of one to one, with where and data',
    rows: { customer: 1, profile: 1, badge: 1 },
    write: updatedProfile({
      update: { where: { id: { gt: 0n } }, data: { badges: { create: { title: 'a' } } } },
    }),
  },
  {
    title: 'create below an update of one to one, with data alone, on a model with a `data` field',
    rows: { customer: 1, profile: 1, badge: 1 },
    write: updatedProfile({ update: { data: { badges: { create: { title: 'a' } } } } }),
  },
  {
    title: 'create of a parent in an update',
    rows: { shop_order: 1, customer: 2, profile: 1 },
    write: async (shop) => {
      const data = { customer: { create: newCustomer() } };
      const { id: orderId } = await shop.order.create({ data });
      const customer = {
        update: { profile: { create: {} }, invitedBy: { create: newCustomer() } },
      };
      return shop.order.update({ where: { id: orderId }, data: { customer } });
    },
  },
  {
    title: '$transaction of a list',
    rows: { customer: 2, shop_order: 1 },
    write: (shop) =>
      shop.$transaction([
        shop.customer.create({ data: newCustomer() }),
        shop.customer.create({ data: { ...newCustomer(), orders: { create: {} } } }),
      ]),
  },
  {
    title: '$transaction of a function',
    rows: { customer: 1, shop_order: 1, line: 1 },
    write: (shop) =>
      shop.$transaction(async (within) => {
        const { id } = await within.customer.create({ data: newCustomer() });
        const data = { customerId: id, lines: { create: line('a') } };
        return within.order.create({ data });
      }),
  },
];
