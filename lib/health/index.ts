/**
 * `nestjs-snowflake/health`: tells @nestjs/terminus whether this process can make ids.
 */
export type { SnowflakeHealth, SnowflakeHealthOptions } from './health-report.js';
export { SnowflakeHealthIndicator } from './snowflake-health.indicator.js';
