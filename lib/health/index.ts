/**
 * `nestjs-snowflake/health`: whether this process can make ids, for @nestjs/terminus.
 */
export type { SnowflakeHealth, SnowflakeHealthOptions } from './health-report.js';
export { SnowflakeHealthIndicator } from './snowflake-health.indicator.js';
