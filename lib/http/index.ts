/**
 * `nestjs-snowflake/http`: IDs in the requests and responses of an application.
 *
 * It requires only Nest. OpenAPI, validators, schemas and GraphQL have their own entries, so none
 * of them has to be installed.
 */
export { bigintAsText, SnowflakeJsonInterceptor } from './snowflake-json.interceptor.js';
export type { SnowflakeIdChecks } from './check-id.js';
export { ParseSnowflakePipe, type ParseSnowflakePipeOptions } from './parse-snowflake.pipe.js';
export { SnowflakeErrorFilter } from './snowflake-error.filter.js';
