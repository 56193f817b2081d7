/**
 * Converts an id between an entity, where it is always decimal text, and the database.
 *
 * Promise: the digits are the same on both sides, or a SnowflakeError says why they are not.
 */
import { InstanceChecker, type ValueTransformer } from 'typeorm';
import { exactText, refusedReading, textToSend } from '../exact-text.js';

const ADVICE =
  'The row was not loaded. Make the driver return text: PostgreSQL without `parseInt8: true`; ' +
  'MySQL and MariaDB with `supportBigNumbers: true`; on SQLite declare the column as ' +
  "`@SnowflakeId({ type: 'varchar' })`.";

/**
 * The transformer of `@SnowflakeId()`, for columns that hold an id but must not get a new one, such
 * as a foreign key column that you declare yourself.
 *
 * @example
 * ```ts
 * import { idText } from 'nestjs-snowflake/typeorm';
 * import { Column } from 'typeorm';
 *
 * class Order {@Column({ type: 'bigint', transformer: idText }) customerId!: string}
 * ```
 */
export const idText: ValueTransformer = { to: toDatabase, from: fromDatabase };

function toDatabase(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  // `Any([...])` passes its list as a whole; every other operator passes one value at a time.
  if (Array.isArray(value)) return value.map(toDatabase);
  // Inside `And()` and `Or()` TypeORM 0.3 passes the operators, TypeORM 1 their values.
  if (InstanceChecker.isFindOperator(value)) {
    value.transformValue(idText);
    return value;
  }
  // `values({ id: () => 'SQL' })` is an expression for the database.
  if (typeof value === 'function') return value;
  return textToSend(value);
}

function fromDatabase(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const text = exactText(value);
  if (text !== '') return text;
  throw refusedReading(value, ADVICE);
}
