/**
 * `nestjs-snowflake/typeorm`: ids for TypeORM entities.
 *
 * Decorate an entity with `@SnowflakeId()` and import SnowflakeModule; that is all.
 * For a DataSource that is not a provider in Nest call `hookDataSource()`.
 */
export { hookDataSource } from './hook-data-source.js';
export { idText } from './hook-data-source.js';
export { SnowflakeId } from './snowflake-id.decorator.js';
export type { SnowflakeIdDecorator, SnowflakeIdOptions } from './snowflake-id.decorator.js';
