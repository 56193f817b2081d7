/**
 * The table of locks as text and as a migration of TypeORM.
 *
 * Promise: one row for each lock that is held or was a minute ago, and one for all of them; nothing
 * ever creates the table at the start of an application.
 */
import { dialectOfType } from '../connection/data-source.js';
import type { DialectName } from '../dialects/dialect.js';
import { checkedOptions } from '../sql-options.js';
import type { MigrationRunner } from '../table/registry-migration.js';
import { TABLE_ENDINGS } from '../table/registry-table.js';

export const LOCK_TABLE = 'snowflake_locks';

const COLUMNS = `
  namespace varchar(128) NOT NULL,
  lock_name varchar(128) NOT NULL,
  version bigint NOT NULL,
  forgettable bigint NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (namespace, lock_name)
`;

/**
 * The statement that creates the table of locks, if it is not there.
 *
 * @param dialect 'postgres', 'mysql' (MariaDB too) or 'sqlite'
 * @param table default 'snowflake_locks'
 * @throws SnowflakeError CONFIG_INVALID for a name that needs quotes
 * @example
 * ```ts
 * import { lockTable } from 'nestjs-snowflake/sql';
 *
 * const sql: string = lockTable('postgres');
 * ```
 */
export function lockTable(dialect: DialectName, table: string = LOCK_TABLE): string {
  checkedOptions({ table });
  return `CREATE TABLE IF NOT EXISTS ${table} (${COLUMNS}${TABLE_ENDINGS[dialect]}`;
}

/**
 * For the option `migrations` of a DataSource; another table needs a migration of your own, with
 * the text of `lockTable`.
 *
 * @example
 * ```ts
 * import { DataSource } from 'typeorm';
 * import { CreateSnowflakeLocks1767225600003 } from 'nestjs-snowflake/sql';
 *
 * new DataSource({
 *   type: 'postgres',
 *   migrations: [CreateSnowflakeLocks1767225600003],
 * });
 * ```
 */
export class CreateSnowflakeLocks1767225600003 {
  /** Its end is the time by which TypeORM orders migrations; stays when code is minified. */
  readonly name = 'CreateSnowflakeLocks1767225600003';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(lockTable(dialectOfType(runner.connection.options.type)));
  }

  /** Counts as a loss of data: whoever holds a lock is told that it is lost. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${LOCK_TABLE}`);
  }
}
