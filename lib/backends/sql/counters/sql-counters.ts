/**
 * Counters in a table of a database: a front door for each way of reaching one.
 *
 * Promise: the application's pool is used for single statements, never inside its transactions, and
 * is never closed.
 */
import { RowCounters } from '../../../counters/row-counters.js';
import { mysqlPool, postgresPool } from '../connection/given-client.js';
import type { MysqlPool, PostgresPool } from '../connection/given-client.js';
import {
  reachedBy,
  refuseWithout,
  type ByDataSource,
  type ByQuery,
} from '../connection/reached-by.js';
import type { SqlConnection } from '../connection/sql-connection.js';
import { sqliteHandle, type SqliteHandle } from '../connection/sqlite-handle.js';
import { parseSqlUrl } from '../connection/sql-url.js';
import type { DialectName } from '../dialects/dialect.js';
import { checkedOptions, type SqlRegistryOptions } from '../sql-options.js';
import { connectionOfUrl, dialectOf } from '../store-of.js';
import { COUNTER_TABLE } from './counter-table.js';
import { SqlCounterRows } from './sql-counter-rows.js';

/** As of a registry, but for the table: default 'snowflake_counters'. */
export type SqlCounterOptions = SqlRegistryOptions;

export type GivenDatabase =
  | ByDataSource
  | ByQuery
  /** A pool of pg, PGlite, or whatever has the same `query(text, values)`. */
  | { readonly pool: PostgresPool; readonly dialect: 'postgres' }
  /** A pool of mysql2, or whatever has the same `execute(text, values)`. */
  | { readonly pool: MysqlPool; readonly dialect: 'mysql' }
  /** A handle of better-sqlite3, libsql or node:sqlite. */
  | { readonly database: SqliteHandle };

/**
 * Counters in PostgreSQL, MySQL, MariaDB or SQLite, for segments and series. Its table is made by
 * `counterTable` or a migration.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { sqlCounters } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * const store = sqlCounters({ pool, dialect: 'postgres', namespace: 'shop' });
 * await store.create!({ counter: 'order', start: 1n });
 * await store.take({ kind: 'dense', counter: 'order', count: 1000n, have: 0n, skip: 100_000n });
 * ```
 */
export function sqlCounters(options: GivenDatabase & SqlCounterOptions): RowCounters {
  const { dialect, connection } = given(options);
  return countersOf(dialect, connection, options);
}

/** The counters of a URL, e.g. postgres://app@db/shop?namespace=shop. */
export function countersFromUrl(url: string): RowCounters {
  const parsed = parseSqlUrl(url);
  return countersOf(parsed.dialect, connectionOfUrl(parsed), parsed.options);
}

function given(options: GivenDatabase): { dialect: DialectName; connection: SqlConnection } {
  if ('database' in options) {
    refuseWithout(options.database, 'database', 'prepare');
    return { dialect: 'sqlite', connection: sqliteHandle(options.database) };
  }
  if (!('pool' in options)) return reachedBy(options);
  if (options.dialect === 'mysql') {
    refuseWithout(options.pool, 'pool', 'execute');
    return { dialect: 'mysql', connection: mysqlPool(options.pool) };
  }
  refuseWithout(options.pool, 'pool', 'query');
  return { dialect: 'postgres', connection: postgresPool(options.pool) };
}

function countersOf(
  name: DialectName,
  connection: SqlConnection,
  options: SqlCounterOptions,
): RowCounters {
  const asked = { ...options, table: options.table ?? COUNTER_TABLE };
  const { serverSql, ...checked } = checkedOptions(asked, name !== 'sqlite');
  const dialect = dialectOf(name, serverSql);
  return new RowCounters(new SqlCounterRows({ ...checked, connection, dialect }));
}
