/**
 * `nestjs-snowflake/drizzle`: a column of ids for Drizzle on PostgreSQL, MySQL, MariaDB and SQLite.
 */
export { snowflakeColumn } from './snowflake-column.js';
export type { SnowflakeColumn, SnowflakeColumnConfig } from './snowflake-column.js';
