/**
 * `nestjs-snowflake/metrics`: metrics of generators for prom-client and OpenTelemetry.
 */
export type { MeasuredGenerator } from './generator-reader.js';
export { registerOpenTelemetryMetrics } from './open-telemetry-metrics.js';
export type { OtelMeter } from './open-telemetry-metrics.js';
export { registerPrometheusMetrics } from './prometheus-metrics.js';
export type { PromClient, PromOptions } from './prometheus-metrics.js';
