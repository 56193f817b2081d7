/**
 * The table of the registry as text, for a migration tool of your choice.
 *
 * Promise: one table, so that it is lost as a whole or not at all; nothing ever creates it at the
 * start of an application.
 */
import type { DialectName } from '../dialects/dialect.js';
import { TABLE, checkedOptions } from '../sql-options.js';

const COLUMNS = `
  namespace varchar(200) NOT NULL,
  worker_id bigint NOT NULL,
  version bigint NOT NULL,
  ceiling bigint NOT NULL,
  token varchar(200),
  data text,
  PRIMARY KEY (namespace, worker_id)
`;

/** Room for new versions of a row beside the old one; names that differ in case differ. */
export const TABLE_ENDINGS: Readonly<Record<DialectName, string>> = {
  postgres: ') WITH (fillfactor = 50)',
  mysql: ') ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
  sqlite: ')',
};

/**
 * The statement that creates the table of the registry, if it is not there.
 *
 * @param dialect 'postgres', 'mysql' (MariaDB too) or 'sqlite'
 * @param table default 'snowflake_registry'
 * @throws SnowflakeError CONFIG_INVALID for a name that needs quotes
 * @example
 * ```ts
 * import { registryTable } from 'nestjs-snowflake/sql';
 *
 * const sql: string = registryTable('postgres');
 * ```
 */
export function registryTable(dialect: DialectName, table: string = TABLE): string {
  checkedOptions({ table });
  return `CREATE TABLE IF NOT EXISTS ${table} (${COLUMNS}${TABLE_ENDINGS[dialect]}`;
}
