/**
 * Customers and their orders for Drizzle on PostgreSQL, as the guide declares them.
 */
import { relations } from 'drizzle-orm';
import { customType, pgTable, text } from 'drizzle-orm/pg-core';
import { currentIdMaker } from 'nestjs-snowflake';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';

const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const newId = (): string => currentIdMaker().nextIdString();

export const customers = pgTable('customers', {
  id: snowflake().primaryKey().$defaultFn(newId),
  email: text().notNull().unique(),
  name: text().notNull().default(''),
});

export const orders = pgTable('orders', {
  id: snowflake('order_id').primaryKey().$defaultFn(newId),
  ticket: snowflake({ type: 'varchar' }).notNull().$defaultFn(newId),
  customerId: snowflake().references(() => customers.id),
});

export const customersRelations = relations(customers, ({ many }) => ({ orders: many(orders) }));
export const ordersRelations = relations(orders, ({ one }) => ({
  customer: one(customers, { fields: [orders.customerId], references: [customers.id] }),
}));

export const TABLES = [
  `CREATE TABLE customers (id bigint PRIMARY KEY, email text NOT NULL UNIQUE,
    name text NOT NULL DEFAULT '')`,
  `CREATE TABLE orders (order_id bigint PRIMARY KEY, ticket varchar(20) NOT NULL,
    "customerId" bigint REFERENCES customers (id))`,
];
