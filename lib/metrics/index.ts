/**
 * `nestjs-snowflake/metrics`: metrics of generators and locks for prom-client and OpenTelemetry.
 */
export type { MeasuredGenerator } from './metric.js';
export type { MeasuredLocks } from './metric-catalog.js';
export {
  registerOpenTelemetryLockMetrics,
  registerOpenTelemetryMetrics,
  type OtelMeter,
} from './open-telemetry-metrics.js';
export {
  registerPrometheusLockMetrics,
  registerPrometheusMetrics,
  type PromOptions,
  type PromClient,
} from './prometheus-metrics.js';
