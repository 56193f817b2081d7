/**
 * The metrics as observable instruments of a Meter of OpenTelemetry.
 *
 * Promise: the API is handed in and never loaded from here. Each generator is read once per
 * collection.
 */
import { GeneratorReader, type MeasuredGenerator } from './generator-reader.js';
import { METRICS, samplesOf } from './metric-catalog.js';

interface InstrumentOptions {
  description?: string;
  unit?: string;
}

interface BatchResult<Instrument> {
  observe(instrument: Instrument, value: number, attributes?: Record<string, string>): void;
}

type BatchCallback<Instrument> = (result: BatchResult<Instrument>) => void;

/** The `Meter` of @opentelemetry/api, as far as it is needed. */
export interface OtelMeter<Instrument = never> {
  createObservableCounter(name: string, options?: InstrumentOptions): Instrument;
  createObservableGauge(name: string, options?: InstrumentOptions): Instrument;
  addBatchObservableCallback(callback: BatchCallback<Instrument>, observables: Instrument[]): void;
  removeBatchObservableCallback(
    callback: BatchCallback<Instrument>,
    observables: Instrument[],
  ): void;
}

/**
 * Adds the metrics of generators to a meter.
 *
 * @returns takes these generators out again
 * @example
 * ```ts
 * import { metrics } from '@opentelemetry/api';
 * import { Module } from '@nestjs/common';
 * import { IdMaker } from 'nestjs-snowflake';
 * import { registerOpenTelemetryMetrics } from 'nestjs-snowflake/metrics';
 *
 * @Module({})
 * export class MetricsModule {
 *   constructor(ids: IdMaker) {
 *     registerOpenTelemetryMetrics(metrics.getMeter('nestjs-snowflake'), [{ ids }]);
 *   }
 * }
 * ```
 */
export function registerOpenTelemetryMetrics<Instrument>(
  meter: OtelMeter<Instrument>,
  generators: readonly MeasuredGenerator[],
): () => void {
  const readers = generators.map((generator) => new GeneratorReader(generator));
  const instruments = METRICS.map(({ kind, openTelemetry: name, help: description, unit }) =>
    kind === 'counter'
      ? meter.createObservableCounter(name, { description, unit })
      : meter.createObservableGauge(name, { description, unit }),
  );
  const observe = (result: BatchResult<Instrument>) => {
    for (const reader of readers) {
      const reading = reader.read();
      for (const [at, metric] of METRICS.entries()) {
        for (const { labels, value } of samplesOf(metric, reader.name, reading)) {
          result.observe(instruments[at]!, value, labels);
        }
      }
    }
  };
  meter.addBatchObservableCallback(observe, instruments);
  return () => meter.removeBatchObservableCallback(observe, instruments);
}
