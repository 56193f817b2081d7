/**
 * What must not compile; `npm run typecheck` fails where one of these lines does.
 */
import { describe, expect, it } from '@jest/globals';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { eq } from 'drizzle-orm';
import { customType, pgTable } from 'drizzle-orm/pg-core';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { orders } from './support/postgres-shop.js';

type Database = NodePgDatabase;

const refused: readonly ((db: Database) => unknown)[] = [
  // @ts-expect-error A number is no id.
  (db) => db.insert(orders).values({ id: 7 }),
  // @ts-expect-error A number is no id.
  (db) => db.update(orders).set({ customerId: 7 }),
  // @ts-expect-error A number is no id.
  (db) => db.select().from(orders).where(eq(orders.id, 7)),
  // @ts-expect-error A bigint would not be equal to the text that is read.
  (db) => db.insert(orders).values({ id: 7n }),
  async (db) => {
    const [row] = await db.select().from(orders);
    // @ts-expect-error What is read is text.
    const id: number | undefined = row?.id;
    return id;
  },
  // @ts-expect-error No such type of column.
  () => pgTable('t', { id: customType<SnowflakeColumn>(snowflakeColumn)({ type: 'integer' }) }),
];

describe('the types of a column of ids', () => {
  it('are text for what is inserted and read', () => {
    const inserted: typeof orders.$inferInsert = { id: '7' };
    const text: string | undefined = inserted.id;
    expect([text, refused.length]).toEqual(['7', 6]);
  });
});
