/**
 * `nestjs-snowflake/drizzle`: a column of IDs for Drizzle on PostgreSQL, MySQL, MariaDB and SQLite,
 * as the argument of its `customType()`.
 *
 * Guarantee: the digits are the same in the application and in the database, or a SnowflakeError
 * explains the difference. Drizzle is recognized by the signature of `customType()`, which all
 * dialects share.
 */
import { isDecimalId } from '../../core/text/decimal.js';
import { exactText, refusedReading, textToSend } from '../exact-text.js';

/** Options of snowflakeColumn(). */
export interface SnowflakeColumnConfig {
  /**
   * Default `'bigint'`. Use `'varchar'` on SQLite, whose drivers lose digits of a bigint. Databases
   * compare strings from the left, so such IDs sort by time only while they have the same digit
   * count.
   */
  readonly type?: 'bigint' | 'varchar' | undefined;
}

/** The types of an ID column: a string in the application, so a number does not compile. */
export interface SnowflakeColumn {
  data: string;
  driverData: string | number | bigint;
  config: SnowflakeColumnConfig;
}

const ADVICE =
  'The row was not returned. Make the driver return text: mysql2 with `supportBigNumbers: true`, ' +
  "on SQLite a column of `{ type: 'varchar' }`. In relational queries ids pass through JSON: for " +
  'PostgreSQL call `pg.types.setTypeParser(114, parseJson)`.';

/**
 * A column of IDs for `customType()` of `drizzle-orm/pg-core`, `mysql-core` and `sqlite-core`: a
 * `bigint` in the database, a string in the application.
 *
 * It throws SnowflakeError ID_INVALID for a value that is not an ID, before the query is sent, and
 * for a number from the driver that has lost digits. It does not fill in IDs: `$defaultFn` does.
 *
 * @example
 * ```ts
 * import { customType, pgTable, text } from 'drizzle-orm/pg-core';
 * import { currentIdMaker } from 'nestjs-snowflake';
 * import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
 *
 * const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
 *
 * export const orders = pgTable('orders', {
 *   id: snowflake()
 *     .primaryKey()
 *     .$defaultFn(() => currentIdMaker().nextIdString()),
 *   customerId: snowflake().notNull(),
 *   note: text(),
 * });
 * ```
 */
export const snowflakeColumn = {
  dataType: (config?: SnowflakeColumnConfig): string =>
    config?.type === 'varchar' ? 'varchar(20)' : 'bigint',
  toDriver: (value: string): string => textToSend(value),
  fromDriver: (value: string | number | bigint): string => {
    const text = exactText(value);
    if (isDecimalId(text)) return text;
    throw refusedReading(value, ADVICE);
  },
};
