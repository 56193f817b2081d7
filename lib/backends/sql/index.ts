/**
 * Worker ids leased from a table in PostgreSQL, MySQL, MariaDB or SQLite: `nestjs-snowflake/sql`.
 */
export { postgresSupport } from './sql.support.js';
export type { PostgresSupportOptions } from './sql.support.js';
export type { SqlRegistryOptions } from './sql-options.js';
export type { PostgresPool } from './connection/given-client.js';
export { registryTable } from './table/registry-table.js';
export type { DialectName } from './dialects/dialect.js';
