/**
 * Customers and their orders for Drizzle on MariaDB.
 */
import { relations } from 'drizzle-orm';
import { customType, mysqlTable, varchar } from 'drizzle-orm/mysql-core';
import { currentIdMaker } from 'nestjs-snowflake';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';

const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const newId = (): string => currentIdMaker().nextIdString();

export const customers = mysqlTable('customers', {
  id: snowflake().primaryKey().$defaultFn(newId),
  email: varchar({ length: 99 }).notNull().unique(),
  name: varchar({ length: 99 }).notNull().default(''),
});

export const orders = mysqlTable('orders', {
  id: snowflake('order_id').primaryKey().$defaultFn(newId),
  ticket: snowflake({ type: 'varchar' }).notNull().$defaultFn(newId),
  customerId: snowflake().references(() => customers.id),
});

export const customersRelations = relations(customers, ({ many }) => ({ orders: many(orders) }));
export const ordersRelations = relations(orders, ({ one }) => ({
  customer: one(customers, { fields: [orders.customerId], references: [customers.id] }),
}));

export const TABLES = [
  `CREATE TABLE customers (id bigint PRIMARY KEY, email varchar(99) NOT NULL UNIQUE,
    name varchar(99) NOT NULL DEFAULT '')`,
  `CREATE TABLE orders (order_id bigint PRIMARY KEY, ticket varchar(20) NOT NULL,
    customerId bigint REFERENCES customers (id))`,
];
