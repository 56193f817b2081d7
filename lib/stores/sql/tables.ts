/**
 * The table of worker IDs, counters and locks as text, for a migration tool of your choice.
 *
 * Guarantee: one table, so that it is lost as a whole or not at all; nothing ever creates it at the
 * start of an application.
 */
import type { DialectName } from './dialects/dialect.js';
import { dialectOfType } from './given-database.js';
import { checkedOptions, TABLE } from './sql-options.js';

const COLUMNS = `
  namespace varchar(200) NOT NULL,
  kind varchar(16) NOT NULL,
  name varchar(128) NOT NULL,
  version bigint NOT NULL,
  number bigint NOT NULL,
  token varchar(200),
  data text NOT NULL,
  PRIMARY KEY (namespace, kind, name)
`;

/** Room for new versions of a row beside the old one; names that differ in case differ. */
const TABLE_ENDINGS: Readonly<Record<DialectName, string>> = {
  postgres: ') WITH (fillfactor = 50)',
  mysql: ') ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
  sqlite: ')',
};

/**
 * The statement that creates the table of worker IDs, counters and locks, if it does not exist.
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

/*
 * The table as a migration of TypeORM, known by shape.
 *
 * Guarantee: it creates what `registryTable` says, in the database that the DataSource is for.
 */

/** The methods of a QueryRunner that are used. */
export interface MigrationRunner {
  readonly connection: { readonly options: { readonly type: string } };
  query(sql: string): Promise<unknown>;
}

/**
 * For the option `migrations` of a DataSource; another table needs a migration of your own, with
 * the text of `registryTable`.
 *
 * @example
 * ```ts
 * import { DataSource } from 'typeorm';
 * import { CreateSnowflakeRegistry1767225600000 } from 'nestjs-snowflake/sql';
 *
 * new DataSource({
 *   type: 'postgres',
 *   migrations: [CreateSnowflakeRegistry1767225600000],
 * });
 * ```
 */
export class CreateSnowflakeRegistry1767225600000 {
  /** Its end is the time by which TypeORM orders migrations; stays when code is minified. */
  readonly name = 'CreateSnowflakeRegistry1767225600000';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(registryTable(dialectOfType(runner.connection.options.type)));
  }

  /**
   * Counts as a loss of data: IDs stay unique and run ahead for a while, the holders of locks learn
   * that their lock is lost, and counters are refused as absent from then on.
   */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${TABLE}`);
  }
}

/*
 * The table of gapless series as text and as a migration of TypeORM.
 *
 * Guarantee: one row for each period of a series; nothing ever creates the table at the start of an
 * application.
 */

export const SERIES_TABLE = 'snowflake_series';

const SERIES_COLUMNS = `
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
  return `CREATE TABLE IF NOT EXISTS ${table} (${SERIES_COLUMNS}${TABLE_ENDINGS[dialect]}`;
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
