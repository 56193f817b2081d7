/**
 * `nestjs-snowflake/prisma`: ids for the models of a Prisma schema.
 *
 * Mark a field with `@default(dbgenerated())` and extend the client with `snowflakeIds()`.
 */
export { snowflakeIds } from './snowflake-ids.js';
export type { SnowflakeIdsExtension, SnowflakeIdsOptions } from './snowflake-ids.js';
