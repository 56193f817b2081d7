/**
 * The database that an application hands in, whatever it has, for counters and locks.
 *
 * Promise: what is given is used for single statements and never closed.
 */
import type { ReachedBy } from './data-source.js';
import { mysqlPool, postgresPool, type MysqlPool, type PostgresPool } from './given-client.js';
import { reachedBy, refuseWithout, type ByDataSource, type ByQuery } from './reached-by.js';
import { sqliteHandle, type SqliteHandle } from './sqlite-handle.js';

/**
 * The ways to give a database: a DataSource, a function that runs SQL, or a pool with its dialect.
 */
export type GivenDatabase =
  | ByDataSource
  | ByQuery
  /** A pool of pg, PGlite, or whatever has the same `query(text, values)`. */
  | { readonly pool: PostgresPool; readonly dialect: 'postgres' }
  /** A pool of mysql2, or whatever has the same `execute(text, values)`. */
  | { readonly pool: MysqlPool; readonly dialect: 'mysql' }
  /** A handle of better-sqlite3, libsql or node:sqlite. */
  | { readonly database: SqliteHandle };

/** @throws SnowflakeError CONFIG_INVALID */
export function givenDatabase(given: GivenDatabase): ReachedBy {
  const options = Object(given) as GivenDatabase;
  if ('database' in options) {
    refuseWithout(options, 'database', 'prepare');
    return { dialect: 'sqlite', connection: sqliteHandle(options.database) };
  }
  if (!('pool' in options)) return reachedBy(options);
  if (options.dialect === 'mysql') {
    refuseWithout(options, 'pool', 'execute');
    return { dialect: 'mysql', connection: mysqlPool(options.pool) };
  }
  refuseWithout(options, 'pool', 'query');
  return { dialect: 'postgres', connection: postgresPool(options.pool) };
}
