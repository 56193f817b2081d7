/**
 * What the compiler refuses if IDs are declared or passed, and what it must accept. Each snippet is
 * compiled with the types of TypeORM and Drizzle.
 */
import { describe, expect, it } from '@jest/globals';
import { eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { customType, pgTable } from 'drizzle-orm/pg-core';
import { snowflakeColumn } from 'nestjs-snowflake/drizzle';
import type { SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { SnippetProgram } from '../docs/snippets.js';
import type { Snippet } from '../docs/snippets.js';
import { orders } from './drizzle/postgres-shop.js';

const TYPEORM = `import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity, type Repository } from 'typeorm';
declare const name: unique symbol;
type OrderId = SnowflakeId<'Order'>;
type CustomerId = SnowflakeId<'Customer'>;
class Order {
  @SnowflakeId() id!: OrderId;
  @Column('bigint') customerId!: CustomerId;
  @Column() note!: string;
}
declare const orders: Repository<Order>;
declare const orderId: OrderId, customerId: CustomerId;
declare function find(id: OrderId): void;
`;

const property = (declared: string): string => `class A { @SnowflakeId() ${declared}; }`;

const DRIZZLE = `import { customType, pgTable } from 'drizzle-orm/pg-core';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import type { SnowflakeId } from 'nestjs-snowflake';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const orders = pgTable('orders', { id: snowflake().primaryKey() });
type InvoiceId = SnowflakeId<'Invoice'>;
const invoices = pgTable('invoices', { id: snowflake().$type<InvoiceId>().primaryKey() });
declare const db: NodePgDatabase;
declare const invoiceId: InvoiceId;
`;

const IN_TYPEORM: readonly [code: string, refusal?: RegExp][] = [
  // The property of a decorator.
  [property('id!: number'), /Declare it as string: TypeORM sets it to one/],
  [property('id?: number'), /Declare it as string/],
  [property('id!: string | number'), /Declare it as string/],
  [property('id!: bigint'), /Declare it as string/],
  [property('id!: string')],
  [property('id?: string')],
  [property('id!: string | null')],
  [property('id!: `ord_${string}`')],
  [property('id: any')],
  [property('id: unknown')],
  [property('private id!: string')],
  [property('protected readonly id!: string')],
  [property('[name]!: string')],
  [property('id!: SnowflakeId')],
  ['class A<Id extends string> { @SnowflakeId() id!: Id; }'],
  ['const decorator: PropertyDecorator = SnowflakeId();'],
  ["SnowflakeId()(Order.prototype, 'id');"],
  ["SnowflakeId()(Order.prototype, String('id'));"],
  // IDs of one kind.
  ['find(orderId);'],
  ['const text: string = orderId; const any: SnowflakeId = orderId;'],
  ['find(customerId);', /'"Customer"' is not assignable to type '"Order"'/],
  ["find('382366441078288384');", /not assignable to .*'"?OrderId|SnowflakeId<"Order">/],
  ['find(7);', /'number' is not assignable/],
  ["find('1' as OrderId);"],
  ['orders.findBy({ customerId });'],
  ['orders.findBy({ customerId: orderId });', /not assignable/],
  ["orders.insert({ customerId, note: '' });"],
  ["orders.save(orders.create({ customerId, note: '' }));"],
  ["orders.update(orderId, { note: '' }); orders.upsert([{ customerId, note: '' }], ['id']);"],
];

const IN_DRIZZLE: readonly [code: string, refusal?: RegExp][] = [
  ["db.insert(orders).values({ id: '1' });"],
  ['db.insert(orders).values({ id: 1 });', /'number' is not assignable/],
  ['db.insert(invoices).values({ id: invoiceId });'],
  ["db.insert(invoices).values({ id: '1' });", /not assignable/],
];

const CASES = [
  ...IN_TYPEORM.map(([code, refusal]) => ({ head: TYPEORM, code, refusal })),
  ...IN_DRIZZLE.map(([code, refusal]) => ({ head: DRIZZLE, code, refusal })),
];

const snippets = CASES.map(({ head, code }, n): Snippet => ({
  path: `case-${n}`,
  line: 0,
  code: head + code,
}));

describe('the compiler', () => {
  const faults = new SnippetProgram(snippets).faults();

  it.each(CASES.map((one, n) => ({ ...one, n })))('checks $code', ({ refusal, n }) => {
    const said = faults.filter(({ path }) => path === `case-${n}`).map(({ message }) => message);
    const refusals = refusal === undefined ? [] : [refusal];
    expect(said).toEqual(refusals.map((one): unknown => expect.stringMatching(one)));
  });
});

// Lines that must not compile. `npm run typecheck` fails if one of them does.

type Database = NodePgDatabase;

const refused: readonly ((db: Database) => unknown)[] = [
  // @ts-expect-error A number is no ID.
  (db) => db.insert(orders).values({ id: 7 }),
  // @ts-expect-error A number is no ID.
  (db) => db.update(orders).set({ customerId: 7 }),
  // @ts-expect-error A number is no ID.
  (db) => db.select().from(orders).where(eq(orders.id, 7)),
  // @ts-expect-error A bigint would not equal the string that is read.
  (db) => db.insert(orders).values({ id: 7n }),
  async (db) => {
    const [row] = await db.select().from(orders);
    // @ts-expect-error The ID that is read is a string.
    const id: number | undefined = row?.id;
    return id;
  },
  // @ts-expect-error This column type does not exist.
  () => pgTable('t', { id: customType<SnowflakeColumn>(snowflakeColumn)({ type: 'integer' }) }),
];

describe('the types of an ID column', () => {
  it('are strings, both for inserts and for reads', () => {
    const inserted: typeof orders.$inferInsert = { id: '7' };
    const text: string | undefined = inserted.id;
    expect([text, refused.length]).toEqual(['7', 6]);
  });
});
