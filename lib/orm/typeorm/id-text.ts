/**
 * An id on its way between an entity and the database: always decimal text in the entity.
 *
 * Promise: the digits are the same on both sides, or a SnowflakeError says why they are not.
 * Who makes the id is not known here.
 */
import { InstanceChecker, type ValueTransformer } from 'typeorm';
import { ID_MAX } from '../../core/id-words.js';
import { isDecimalId } from '../../core/text/decimal.js';
import { SnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';

/**
 * The transformer of `@SnowflakeId()`, for columns that hold an id but must not be given a new
 * one, such as a foreign key column that you declare yourself.
 *
 * @example
 * ```ts
 * import { idText } from 'nestjs-snowflake/typeorm';
 * import { Column } from 'typeorm';
 *
 * class Order {
 *   @Column({ type: 'bigint', transformer: idText })
 *   customerId!: string;
 * }
 * ```
 */
export const idText: ValueTransformer = { to: toDatabase, from: fromDatabase };

function toDatabase(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  // `Any([...])` hands its list over whole; every other operator goes value by value.
  if (Array.isArray(value)) return value.map(toDatabase);
  // TypeORM 0.3 hands the operators inside `And()` and `Or()` over, TypeORM 1 their values.
  if (InstanceChecker.isFindOperator(value)) {
    value.transformValue(idText);
    return value;
  }
  // `values({ id: () => 'SQL' })` is an expression for the database.
  if (typeof value === 'function') return value;
  const text = textOf(value);
  // In its one spelling, so that the text in the entity is the text the database gives back.
  if (isDecimalId(text)) return text;
  throw new SnowflakeError(
    'ID_INVALID',
    `Expected an id as decimal text or bigint from 0 to ${ID_MAX}, got ${shownShort(value)}. ` +
      'Nothing was sent to the database. Keep ids as strings, in JSON too: a number is not exact ' +
      'beyond 2^53.',
    { details: { value } },
  );
}

function fromDatabase(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const text = textOf(value);
  if (text !== '') return text;
  throw new SnowflakeError(
    'ID_INVALID',
    `The database driver returned an id as ${shownShort(value)}, which is not exact. The row was ` +
      'not loaded. Make the driver return text: PostgreSQL without `parseInt8: true`; MySQL and ' +
      'MariaDB with `supportBigNumbers: true`; on SQLite declare the column as ' +
      "`@SnowflakeId({ type: 'varchar' })`.",
    { details: { value } },
  );
}

/** Empty for what has no exact text: an unsafe number has lost its digits already. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : '';
}
