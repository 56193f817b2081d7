/**
 * Worker ids leased from a table in a database: a front door for each way of reaching one.
 *
 * Promise: the application's pool is used for single statements, never inside its transactions, and
 * is never closed.
 */
import { RegistrySupport } from '../../registry/registry-support.js';
import { dataSourceConnection, type GivenDataSource } from './connection/data-source.js';
import { mysqlPool, postgresPool } from './connection/given-client.js';
import type { MysqlPool, PostgresPool } from './connection/given-client.js';
import type { SqlConnection } from './connection/sql-connection.js';
import { sqliteHandle, type SqliteHandle } from './connection/sqlite-handle.js';
import type { DialectName } from './dialects/dialect.js';
import { refuse, type SqlRegistryOptions } from './sql-options.js';
import type { SqlQuery } from './sql-query.js';
import { storeOf } from './store-of.js';

export interface PostgresSupportOptions extends SqlRegistryOptions {
  /** A `Pool` of pg, PGlite, or whatever has the same `query(text, values)`. */
  readonly pool: PostgresPool;
}

export interface MysqlSupportOptions extends SqlRegistryOptions {
  /** A pool of mysql2, or whatever has the same `execute(text, values)`. */
  readonly pool: MysqlPool;
}

export interface SqliteSupportOptions extends SqlRegistryOptions {
  /** A handle of better-sqlite3, libsql or node:sqlite. */
  readonly database: SqliteHandle;
}

export interface DataSourceSupportOptions extends SqlRegistryOptions {
  /** Of TypeORM, for PostgreSQL, MySQL, MariaDB or better-sqlite3. */
  readonly dataSource: GivenDataSource;
}

export interface QuerySupportOptions extends SqlRegistryOptions {
  /**
   * Runs one statement outside of any transaction, and gives the rows; in MySQL, of a statement
   * that writes, what the driver gives or the number of rows.
   */
  readonly query: SqlQuery;
  readonly dialect: Exclude<DialectName, 'sqlite'>;
}

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
  refuseWithout(options.pool, 'pool', 'query');
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
  refuseWithout(options.pool, 'pool', 'execute');
  return supportOf('mysql', mysqlPool(options.pool), options);
}

/**
 * Worker ids leased from a file of SQLite, for the processes of one host.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 */
export function sqliteSupport(options: SqliteSupportOptions): RegistrySupport {
  refuseWithout(options.database, 'database', 'prepare');
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
  if ('dataSource' in options) {
    refuseWithout(options.dataSource, 'dataSource', 'query');
    const { dialect, connection } = dataSourceConnection(options.dataSource);
    return supportOf(dialect, connection, options);
  }
  const { query, dialect } = options;
  refuse([
    ...(typeof query === 'function' ? [] : [`Expected \`query\` or \`dataSource\`, got neither.`]),
    ...(TITLES.has(dialect) ? [] : [`Expected \`dialect\` to be postgres or mysql.`]),
  ]);
  const text = `${TITLES.get(dialect)} by the given function`;
  return supportOf(dialect, { where: { text, secrets: [] }, query }, options);
}

const TITLES: ReadonlyMap<DialectName, string> = new Map([
  ['postgres', 'PostgreSQL'],
  ['mysql', 'MySQL'],
]);

function supportOf(
  dialect: DialectName,
  connection: SqlConnection,
  options: SqlRegistryOptions,
): RegistrySupport {
  return new RegistrySupport(storeOf(dialect, connection, options));
}

function refuseWithout(given: unknown, name: string, method: string): void {
  const found = (Object(given) as Record<string, unknown>)[method];
  if (typeof found === 'function') return;
  // Not the value: where a URL was given instead, it holds a password.
  const got = typeof given === 'object' && given !== null ? 'one without it' : typeof given;
  refuse([`Expected \`${name}\` to be an object with ${method}(), got ${got}.`]);
}
