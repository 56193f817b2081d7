/**
 * The table of worker IDs, counters and locks as SQL text, for a migration tool of your choice.
 *
 * Guarantee: it is one table, so a loss affects all of it or nothing. It is never created at the
 * start of an application.
 */
import { choice, refuse } from '../../options.js';
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

/** Room for new versions of a row next to the old one; names are case-sensitive. */
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
 * @throws SnowflakeError CONFIG_INVALID for another dialect, or a name that requires quotes
 * @example
 * ```ts
 * import { registryTable } from 'nestjs-snowflake/sql';
 *
 * const sql: string = registryTable('postgres');
 * ```
 */
export function registryTable(dialect: DialectName, table: string = TABLE): string {
  return creation(dialect, table, COLUMNS);
}

function creation(dialect: DialectName, table: string, columns: string): string {
  checkedOptions({ table });
  refuse(choice(...Object.keys(TABLE_ENDINGS))('dialect', dialect));
  return `CREATE TABLE IF NOT EXISTS ${table} (${columns}${TABLE_ENDINGS[dialect]}`;
}

/*
 * The table as a migration of TypeORM, recognized by its structure.
 *
 * Guarantee: it creates the same table as `registryTable`, for the database of the DataSource.
 */

/** The used methods of a QueryRunner. */
export interface MigrationRunner {
  readonly connection: { readonly options: { readonly type: string } };
  query(sql: string): Promise<unknown>;
}

/**
 * For the option `migrations` of a DataSource. Another table name requires your own migration, with
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
  /**
   * TypeORM orders migrations by the time at the end of this name. Minifiers do not change it,
   * unlike the class name.
   */
  readonly name = 'CreateSnowflakeRegistry1767225600000';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(registryTable(dialectOfType(runner.connection.options.type)));
  }

  /**
   * Counts as a loss of data: IDs stay unique and run ahead for a while, lock holders learn that
   * their lock is lost, and counters are absent from then on.
   */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${TABLE}`);
  }
}

/*
 * The table of gapless series as SQL text and as a migration of TypeORM.
 *
 * Guarantee: it has one row for each period of a series, and is never created at the start of an
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
 * The statement that creates the table of gapless series, if it does not exist.
 *
 * @param dialect 'postgres', 'mysql' (MariaDB too) or 'sqlite'
 * @param table default 'snowflake_series'
 * @throws SnowflakeError CONFIG_INVALID for another dialect, or a name that requires quotes
 */
export function seriesTable(dialect: DialectName, table: string = SERIES_TABLE): string {
  return creation(dialect, table, SERIES_COLUMNS);
}

/**
 * For the option `migrations` of a DataSource. Another table name requires your own migration, with
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
  /**
   * TypeORM orders migrations by the time at the end of this name. Minifiers do not change it,
   * unlike the class name.
   */
  readonly name = 'CreateSnowflakeSeries1767225600002';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(seriesTable(dialectOfType(runner.connection.options.type)));
  }

  /** Loses every number: in a new table, each period begins with 1 again. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${SERIES_TABLE}`);
  }
}
