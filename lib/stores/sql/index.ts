/**
 * Worker IDs, counters and locks in a table of PostgreSQL, MySQL, MariaDB or SQLite:
 * `nestjs-snowflake/sql`.
 */
export {
  mysqlSupport,
  postgresSupport,
  sqlSupport,
  sqliteSupport,
  type DataSourceSupportOptions,
  type MysqlSupportOptions,
  type PostgresSupportOptions,
  type QuerySupportOptions,
  type SqliteSupportOptions,
} from './sql.support.js';
export type { SqlRegistryOptions } from './sql-options.js';
export { type SqlParameter, type SqlQuery } from './sql-connection.js';
export { type SqliteHandle, type SqliteStatement } from './dialects/sqlite-file.js';
export type { GivenDataSource, MysqlPool, PostgresPool, GivenDatabase } from './given-database.js';
export {
  CreateSnowflakeRegistry1767225600000,
  registryTable,
  CreateSnowflakeSeries1767225600002,
  seriesTable,
  type MigrationRunner,
} from './tables.js';
export type { DialectName } from './dialects/dialect.js';
export { sqlCounters, sqlLocks, type LockDatabase } from './counters-and-locks.js';
export {
  gaplessSeries,
  type GaplessSeries,
  type GaplessSeriesOptions,
  type TransactionManager,
  type TransactionQuery,
} from './gapless-series.js';
