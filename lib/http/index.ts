/**
 * `nestjs-snowflake/http`: ids on their way in and out of an HTTP application.
 *
 * It knows Nest and nothing else. OpenAPI, validators, schemas and GraphQL have entries of their
 * own, so that none of them has to be installed.
 */
export { bigintAsText } from './bigint-as-text.js';
export type { SnowflakeIdChecks } from './check-id.js';
export { ParseSnowflakePipe } from './parse-snowflake.pipe.js';
export type { ParseSnowflakePipeOptions } from './parse-snowflake.pipe.js';
export { SnowflakeErrorFilter } from './snowflake-error.filter.js';
export { SnowflakeJsonInterceptor } from './snowflake-json.interceptor.js';
