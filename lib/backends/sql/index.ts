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
export type { SqlParameter, SqlQuery } from './sql-query.js';
export type { GivenDataSource } from './connection/data-source.js';
export type { MysqlPool, PostgresPool } from './connection/given-client.js';
export type { SqliteHandle } from './connection/sqlite-handle.js';
export { supportFromUrl } from './store-of.js';
export { CreateSnowflakeRegistry1767225600000 } from './table/registry-migration.js';
export type { MigrationRunner } from './table/registry-migration.js';
export { registryTable } from './table/registry-table.js';
export type { DialectName } from './dialects/dialect.js';
export { countersFromUrl, sqlCounters } from './counters/sql-counters.js';
export type { SqlCounterOptions } from './counters/sql-counters.js';
export type { GivenDatabase } from './connection/given-database.js';
export { CreateSnowflakeCounters1767225600001, counterTable } from './counters/counter-table.js';
export { sqlLocks, sqlLocksFromUrl } from './locks/sql-locks.js';
export type { LockDatabase, SqlLockOptions } from './locks/sql-locks.js';
export { CreateSnowflakeLocks1767225600003, lockTable } from './locks/lock-table.js';
export { gaplessSeries } from './series/gapless-series.js';
export { CreateSnowflakeSeries1767225600002, seriesTable } from './series/series-table.js';
export type {
  GaplessSeries,
  GaplessSeriesOptions,
  TransactionManager,
  TransactionQuery,
} from './series/gapless-series.js';
