/**
 * The table of the registry as text, for a migration tool of your choice.
 *
 * Guarantee: one table, so that it is lost as a whole or not at all; nothing ever creates it at the
 * start of an application.
 */
import type { DialectName } from './dialects/dialect.js';
import { dialectOfType } from './given-database.js';
import { checkedOptions, TABLE } from './sql-options.js';

const REGISTRY_COLUMNS = `
  namespace varchar(200) NOT NULL,
  worker_id bigint NOT NULL,
  version bigint NOT NULL,
  ceiling bigint NOT NULL,
  token varchar(200),
  data text,
  PRIMARY KEY (namespace, worker_id)
`;

/** Room for new versions of a row beside the old one; names that differ in case differ. */
const TABLE_ENDINGS: Readonly<Record<DialectName, string>> = {
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
  return `CREATE TABLE IF NOT EXISTS ${table} (${REGISTRY_COLUMNS}${TABLE_ENDINGS[dialect]}`;
}

/*
 * The table of the registry as a migration of TypeORM, known by shape.
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

  /** Counts as a loss of the registry: ids stay unique, and run ahead for a while. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${TABLE}`);
  }
}

/*
 * The table of counters as text and as a migration of TypeORM.
 *
 * Guarantee: one row for each counter; nothing ever creates the table at the start of an
 * application.
 */

export const COUNTER_TABLE = 'snowflake_counters';

const COUNTER_COLUMNS = `
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
  return `CREATE TABLE IF NOT EXISTS ${table} (${COUNTER_COLUMNS}${TABLE_ENDINGS[dialect]}`;
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

/*
 * The table of locks as text and as a migration of TypeORM.
 *
 * Guarantee: one row for each lock that is held or was a minute ago, and one for all of them;
 * nothing ever creates the table at the start of an application.
 */

export const LOCK_TABLE = 'snowflake_locks';

const LOCK_COLUMNS = `
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
  return `CREATE TABLE IF NOT EXISTS ${table} (${LOCK_COLUMNS}${TABLE_ENDINGS[dialect]}`;
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

  /** Counts as a loss of data: the holders of locks learn that their lock is lost. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${LOCK_TABLE}`);
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
