/**
 * Converts an id between an entity, where it is always decimal text, and the database.
 *
 * Promise: the digits are the same on both sides, or a SnowflakeError says why they are not.
 */
import { InstanceChecker, type ValueTransformer } from 'typeorm';
import { ID_MAX } from '../../core/id-words.js';
import { isDecimalId } from '../../core/text/decimal.js';
import { SnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';

/**
 * The transformer of `@SnowflakeId()`, for columns that hold an id but must not get a new one, such
 * as a foreign key column that you declare yourself.
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
  // `Any([...])` passes its list as a whole; every other operator passes one value at a time.
  if (Array.isArray(value)) return value.map(toDatabase);
  // Inside `And()` and `Or()` TypeORM 0.3 passes the operators, TypeORM 1 their values.
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
    `The database driver returned an id as ${shownShort(value)}, which is not exact. The row ` +
      'was not loaded. Make the driver return text: PostgreSQL without `parseInt8: true`; MySQL ' +
      'and MariaDB with `supportBigNumbers: true`; on SQLite declare the column as ' +
      "`@SnowflakeId({ type: 'varchar' })`.",
    { details: { value } },
  );
}

/** Empty for a value without an exact text: an unsafe number has already lost digits. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : '';
}
