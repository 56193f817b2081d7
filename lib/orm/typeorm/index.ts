/**
 * `nestjs-snowflake/typeorm`: ids for TypeORM entities.
 *
 * Users decorate an entity with `@SnowflakeId()` and import SnowflakeModule; nothing else.
 * DataSources that Nest does not know are hooked by `hookDataSource()`.
 */
export { hookDataSource } from './hook-data-source.js';
export { idText } from './id-text.js';
export { SnowflakeId } from './snowflake-id.decorator.js';
export type { SnowflakeIdOptions } from './snowflake-id.decorator.js';
