/**
 * Counters in a table of a database: a front door for each way of reaching one.
 *
 * Guarantee: the application's pool is used for single statements, never inside its transactions,
 * and is never closed.
 */
import { RowCounters } from '../../counters/row-counters.js';
import type { DialectName } from './dialects/dialect.js';
import { givenDatabase, type GivenDatabase } from './given-database.js';
import type { SqlConnection } from './sql-connection.js';
import { checkedOptions, type SqlRegistryOptions, parseSqlUrl } from './sql-options.js';
import { SqlRows } from './sql-rows.js';
import { connectionOfUrl, dialectOf } from './sql.support.js';
import { COUNTER_TABLE } from './tables.js';

/** The options of a registry, except for the table: default 'snowflake_counters'. */
export type SqlCounterOptions = SqlRegistryOptions;

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
 * await store.take({ kind: 'dense', counter: 'order', count: 1000n, have: 0n, lossGap: 100_000n });
 * ```
 */
export function sqlCounters(options: GivenDatabase & SqlCounterOptions): RowCounters {
  const { dialect, connection } = givenDatabase(options);
  return countersOf(dialect, connection, options);
}

/** The counters of a URL, e.g. postgres://app@db/shop?namespace=shop. */
export function countersFromUrl(url: string): RowCounters {
  const parsed = parseSqlUrl(url);
  return countersOf(parsed.dialect, connectionOfUrl(parsed), parsed.options);
}

function countersOf(
  name: DialectName,
  connection: SqlConnection,
  options: SqlCounterOptions,
): RowCounters {
  const { table = COUNTER_TABLE } = options;
  const asked = { ...options, table };
  const { serverSql, ...checked } = checkedOptions(asked, name !== 'sqlite');
  const dialect = dialectOf(name, serverSql);
  const holds = 'counters';
  return new RowCounters(new SqlRows({ ...checked, connection, dialect, holds }));
}
