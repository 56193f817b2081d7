/**
 * `nestjs-snowflake/metrics`: metrics of generators and locks for prom-client and OpenTelemetry.
 */
export type { MeasuredGenerator } from './generator-reader.js';
export type { MeasuredLocks } from './lock-catalog.js';
export {
  registerOpenTelemetryLockMetrics,
  registerOpenTelemetryMetrics,
} from './open-telemetry-metrics.js';
export type { OtelMeter } from './open-telemetry-metrics.js';
export { registerPrometheusLockMetrics, registerPrometheusMetrics } from './prometheus-metrics.js';
export type { PromOptions } from './prometheus-metrics.js';
export type { PromClient } from './prometheus-registry.js';
