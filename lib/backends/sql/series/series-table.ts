/**
 * The table of gapless series as text and as a migration of TypeORM.
 *
 * Promise: one row for each period of a series; nothing ever creates the table at the start of an
 * application.
 */
import { dialectOfType } from '../connection/data-source.js';
import type { DialectName } from '../dialects/dialect.js';
import { checkedOptions } from '../sql-options.js';
import type { MigrationRunner } from '../table/registry-migration.js';
import { TABLE_ENDINGS } from '../table/registry-table.js';

export const SERIES_TABLE = 'snowflake_series';

const COLUMNS = `
  series varchar(128) NOT NULL,
  period varchar(16) NOT NULL,
  next bigint NOT NULL,
  PRIMARY KEY (series, period)
`;

/**
 * The statement that creates the table of gapless series, if it is not there.
 *
 * @param dialect 'postgres', 'mysql' (MariaDB too) or 'sqlite'
 * @param table default 'snowflake_series'
 * @throws SnowflakeError CONFIG_INVALID for a name that needs quotes
 */
export function seriesTable(dialect: DialectName, table: string = SERIES_TABLE): string {
  checkedOptions({ table });
  return `CREATE TABLE IF NOT EXISTS ${table} (${COLUMNS}${TABLE_ENDINGS[dialect]}`;
}

/**
 * For the option `migrations` of a DataSource; another table needs a migration of your own, with
 * the text of `seriesTable`.
 *
 * @example
 * ```ts
 * import { DataSource } from 'typeorm';
 * import { CreateSnowflakeSeries1767225600002 } from 'nestjs-snowflake/sql';
 *
 * new DataSource({
 *   type: 'postgres',
 *   migrations: [CreateSnowflakeSeries1767225600002],
 * });
 * ```
 */
export class CreateSnowflakeSeries1767225600002 {
  /** Its end is the time by which TypeORM orders migrations; stays when code is minified. */
  readonly name = 'CreateSnowflakeSeries1767225600002';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(seriesTable(dialectOfType(runner.connection.options.type)));
  }

  /** Every number is forgotten by it: a table that is made again begins each period with 1. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${SERIES_TABLE}`);
  }
}
