/**
 * `nestjs-snowflake/dashboard`: a page for operators, served by the application itself.
 */
export type { DashboardGuard, SnowflakeDashboardOptions } from './snowflake-dashboard.module.js';
export { SnowflakeDashboardModule } from './snowflake-dashboard.module.js';
