/**
 * Finds the columns to fill with ids: `@SnowflakeId()` recorded them, TypeORM's metadata leads to
 * them.
 *
 * Guarantee: a column is found by the class that was decorated, so base classes, single-table
 * children and embedded classes work, and junction tables and foreign keys are left alone.
 */
import { InstanceChecker, type EntityMetadata, type ValueTransformer } from 'typeorm';
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import { currentIdMaker } from '../../nest/id-maker.js';
import { processWide } from '../../process-wide.js';
import { exactText, refusedReading, textToSend } from '../exact-text.js';

type ColumnMetadata = EntityMetadata['columns'][number];

/** A column that is filled on insert, and the name of the generator that makes its ids. */
interface SnowflakeColumn {
  readonly column: ColumnMetadata;
  readonly generator: string | undefined;
}

/** Maps a decorated class to its properties, and those to the names of their generators. */
const decorated = processWide(
  'typeorm-properties',
  () => new WeakMap<object, Map<string, string | undefined>>(),
);
const found = processWide(
  'typeorm-columns',
  () => new WeakMap<EntityMetadata, readonly SnowflakeColumn[]>(),
);

export function recordColumn(
  target: object,
  property: string,
  generator: string | undefined,
): void {
  const properties = decorated.get(target) ?? new Map<string, string | undefined>();
  decorated.set(target, properties.set(property, generator));
}

export function snowflakeColumns(metadata: EntityMetadata): readonly SnowflakeColumn[] {
  const known = found.get(metadata);
  if (known !== undefined) return known;
  const columns = metadata.columns.flatMap((column) => snowflakeColumn(column, metadata));
  found.set(metadata, columns);
  return columns;
}

function snowflakeColumn(column: ColumnMetadata, metadata: EntityMetadata): SnowflakeColumn[] {
  const { target, propertyName } = column;
  if (typeof target !== 'function' || isOfChild(target, metadata.target)) return [];
  const properties = decorated.get(target);
  if (!properties?.has(propertyName)) return [];
  return [{ column, generator: properties.get(propertyName) }];
}

/** With single-table inheritance the parent's table has the columns of its children, too. */
function isOfChild(target: Function, entity: EntityMetadata['target']): boolean {
  return typeof entity === 'function' && target.prototype instanceof entity;
}

/**
 * Returns the value of the property in the inserted row: a new id if it was empty, otherwise its
 * value, as text, because a later read returns text.
 * @throws SnowflakeError ID_INVALID for a number, with which TypeORM would not find the row again
 */
export function idForInsert(value: unknown, generator: string | undefined): unknown {
  if (value === null || value === undefined) return currentIdMaker(generator).nextIdString();
  if (typeof value === 'number') throw isNumber(value);
  return typeof value === 'bigint' ? String(value) : value;
}

function isNumber(value: number): SnowflakeError {
  return new SnowflakeError(
    'ID_INVALID',
    `Expected the id of a new row as text, got ${format(value)}. Nothing was sent to the ` +
      `database. Ids are strings: TypeORM compares the id with the text it reads, and would take ` +
      `an existing row for a new one. Write '${value}', or leave it out for a new id.`,
    { details: { value } },
  );
}

/*
 * Converts an id between an entity, where it is always decimal text, and the database.
 *
 * Guarantee: the digits are the same on both sides, or a SnowflakeError says why they are not.
 */

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
