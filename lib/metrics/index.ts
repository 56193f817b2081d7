/**
 * `nestjs-snowflake/metrics`: metrics of generators and locks for prom-client and OpenTelemetry.
 */
export type { MeasuredGenerator } from './metric.js';
export type { MeasuredLocks } from './metric-catalog.js';
export {
  registerOpenTelemetryLockMetrics,
  registerOpenTelemetryMetrics,
} from './open-telemetry-metrics.js';
export type { OtelMeter } from './open-telemetry-metrics.js';
export { registerPrometheusLockMetrics, registerPrometheusMetrics } from './prometheus-metrics.js';
export type { PromOptions, PromClient } from './prometheus-metrics.js';
