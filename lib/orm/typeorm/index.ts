/**
 * `nestjs-snowflake/typeorm`: IDs for TypeORM entities.
 *
 * Decorate an entity with `@SnowflakeId()` and import SnowflakeModule; that is all.
 * For a DataSource that is not a provider in Nest call `hookDataSource()`.
 */
export { hookDataSource, idText } from './hook-data-source.js';
export {
  SnowflakeId,
  type SnowflakeIdDecorator,
  type SnowflakeIdOptions,
} from './snowflake-id.decorator.js';
