/**
 * Worker ids leased from a table in a database: a front door for each way of reaching one.
 *
 * Promise: the application's pool is used for single statements, never inside its transactions, and
 * is never closed.
 */
import { RegistrySupport } from '../../registry/registry-support.js';
import { mysqlPool, postgresPool } from './connection/given-client.js';
import type { MysqlPool, PostgresPool } from './connection/given-client.js';
import {
  reachedBy,
  refuseWithout,
  type ByDataSource,
  type ByQuery,
} from './connection/reached-by.js';
import type { SqlConnection } from './connection/sql-connection.js';
import { sqliteHandle, type SqliteHandle } from './connection/sqlite-handle.js';
import type { DialectName } from './dialects/dialect.js';
import type { SqlRegistryOptions } from './sql-options.js';
import { storeOf } from './store-of.js';

/** Where the registry is kept by a pool of pg. */
export interface PostgresSupportOptions extends SqlRegistryOptions {
  /** A `Pool` of pg, PGlite, or whatever has the same `query(text, values)`. */
  readonly pool: PostgresPool;
}

/** Where the registry is kept by a pool of mysql2. */
export interface MysqlSupportOptions extends SqlRegistryOptions {
  /** A pool of mysql2, or whatever has the same `execute(text, values)`. */
  readonly pool: MysqlPool;
}

/** Where the registry is kept by a handle of SQLite. */
export interface SqliteSupportOptions extends SqlRegistryOptions {
  /** A handle of better-sqlite3, libsql or node:sqlite. */
  readonly database: SqliteHandle;
}

/** Where the registry is kept by a TypeORM DataSource. */
export interface DataSourceSupportOptions extends SqlRegistryOptions, ByDataSource {}

/** Where the registry is kept by a function that runs SQL. */
export interface QuerySupportOptions extends SqlRegistryOptions, ByQuery {}

/**
 * Worker ids leased from PostgreSQL, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { postgresSupport } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * SnowflakeModule.forRoot({ support: postgresSupport({ pool, namespace: 'shop' }) });
 * ```
 */
export function postgresSupport(options: PostgresSupportOptions): RegistrySupport {
  refuseWithout(options, 'pool', 'query');
  return supportOf('postgres', postgresPool(options.pool), options);
}

/**
 * Worker ids leased from MariaDB or MySQL, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 * @example
 * ```ts
 * import { createPool } from 'mysql2/promise';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { mysqlSupport } from 'nestjs-snowflake/sql';
 *
 * const pool = createPool({ host: 'localhost', user: 'shop', database: 'shop' });
 * SnowflakeModule.forRoot({ support: mysqlSupport({ pool, namespace: 'shop' }) });
 * ```
 */
export function mysqlSupport(options: MysqlSupportOptions): RegistrySupport {
  refuseWithout(options, 'pool', 'execute');
  return supportOf('mysql', mysqlPool(options.pool), options);
}

/**
 * Worker ids leased from a file of SQLite, for the processes of one host.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 */
export function sqliteSupport(options: SqliteSupportOptions): RegistrySupport {
  refuseWithout(options, 'database', 'prepare');
  return supportOf('sqlite', sqliteHandle(options.database), options);
}

/**
 * Worker ids leased by way of a DataSource of TypeORM, or of any function that runs a statement.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 */
export function sqlSupport(
  options: DataSourceSupportOptions | QuerySupportOptions,
): RegistrySupport {
  const { dialect, connection } = reachedBy(options);
  return supportOf(dialect, connection, options);
}

function supportOf(
  dialect: DialectName,
  connection: SqlConnection,
  options: SqlRegistryOptions,
): RegistrySupport {
  return new RegistrySupport(storeOf(dialect, connection, options));
}
