/**
 * The table of counters as text and as a migration of TypeORM.
 *
 * Promise: one row for each counter; nothing ever creates the table at the start of an application.
 */
import { dialectOfType } from '../connection/data-source.js';
import type { DialectName } from '../dialects/dialect.js';
import { checkedOptions } from '../sql-options.js';
import type { MigrationRunner } from '../table/registry-migration.js';
import { TABLE_ENDINGS } from '../table/registry-table.js';

export const COUNTER_TABLE = 'snowflake_counters';

const COLUMNS = `
  namespace varchar(128) NOT NULL,
  counter varchar(128) NOT NULL,
  version bigint NOT NULL,
  next bigint NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (namespace, counter)
`;

/**
 * The statement that creates the table of counters, if it is not there.
 *
 * @param dialect 'postgres', 'mysql' (MariaDB too) or 'sqlite'
 * @param table default 'snowflake_counters'
 * @throws SnowflakeError CONFIG_INVALID for a name that needs quotes
 * @example
 * ```ts
 * import { counterTable } from 'nestjs-snowflake/sql';
 *
 * const sql: string = counterTable('postgres');
 * ```
 */
export function counterTable(dialect: DialectName, table: string = COUNTER_TABLE): string {
  checkedOptions({ table });
  return `CREATE TABLE IF NOT EXISTS ${table} (${COLUMNS}${TABLE_ENDINGS[dialect]}`;
}

/**
 * For the option `migrations` of a DataSource; another table needs a migration of your own, with
 * the text of `counterTable`.
 *
 * @example
 * ```ts
 * import { DataSource } from 'typeorm';
 * import { CreateSnowflakeCounters1767225600001 } from 'nestjs-snowflake/sql';
 *
 * new DataSource({
 *   type: 'postgres',
 *   migrations: [CreateSnowflakeCounters1767225600001],
 * });
 * ```
 */
export class CreateSnowflakeCounters1767225600001 {
  /** Its end is the time by which TypeORM orders migrations; stays when code is minified. */
  readonly name = 'CreateSnowflakeCounters1767225600001';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(counterTable(dialectOfType(runner.connection.options.type)));
  }

  /** Every counter is lost by it, and refused as absent from then on. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${COUNTER_TABLE}`);
  }
}
