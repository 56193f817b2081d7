/**
 * Worker ids leased from a table in PostgreSQL, MySQL, MariaDB or SQLite; counters and locks in
 * one: `nestjs-snowflake/sql`.
 */
export { mysqlSupport, postgresSupport, sqlSupport, sqliteSupport } from './sql.support.js';
export type {
  DataSourceSupportOptions,
  MysqlSupportOptions,
  PostgresSupportOptions,
  QuerySupportOptions,
  SqliteSupportOptions,
} from './sql.support.js';
export type { SqlRegistryOptions } from './sql-options.js';
export type { SqlParameter, SqlQuery } from './sql-connection.js';
export type { GivenDataSource, MysqlPool, PostgresPool, GivenDatabase } from './given-database.js';
export type { SqliteHandle } from './sql-connection.js';
export {
  CreateSnowflakeRegistry1767225600000,
  registryTable,
  CreateSnowflakeCounters1767225600001,
  counterTable,
  CreateSnowflakeLocks1767225600003,
  lockTable,
  CreateSnowflakeSeries1767225600002,
  seriesTable,
} from './tables.js';
export type { MigrationRunner } from './tables.js';
export type { DialectName } from './dialects/dialect.js';
export { sqlCounters } from './sql-counters.js';
export type { SqlCounterOptions } from './sql-counters.js';
export { sqlLocks } from './sql-locks.js';
export type { LockDatabase, SqlLockOptions } from './sql-locks.js';
export { gaplessSeries } from './gapless-series.js';
export type {
  GaplessSeries,
  GaplessSeriesOptions,
  TransactionManager,
  TransactionQuery,
} from './gapless-series.js';
