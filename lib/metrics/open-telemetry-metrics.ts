/**
 * The metrics as observable instruments of an OpenTelemetry Meter. The application passes it in;
 * the API is never loaded from here.
 *
 * Guarantee: each generator is read once per collection. A collection also records the durations of
 * the generator's most recent renewals, up to 64.
 */
import { methods, refuse } from '../options.js';
import { DURATION_BOUNDS_MS } from '../time/call-record.js';
import {
  GENERATOR_METRICS,
  LOCK_METRICS,
  lockReader,
  type MeasuredLocks,
} from './metric-catalog.js';
import {
  generatorReader,
  readersOf,
  samplesOf,
  type Family,
  type MeasuredGenerator,
  type MetricOf,
  type ReaderOf,
  type Readers,
} from './metric.js';

interface InstrumentOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

interface OtelHistogram {
  record(value: number, attributes?: Record<string, string>): void;
}

interface BatchResult<Instrument> {
  observe(instrument: Instrument, value: number, attributes?: Record<string, string>): void;
}

type BatchCallback<Instrument> = (result: BatchResult<Instrument>) => void | Promise<void>;

/** The used part of the `Meter` of `@opentelemetry/api`. */
export interface OtelMeter<Instrument = never> {
  createObservableCounter(name: string, options?: InstrumentOptions): Instrument;
  createObservableGauge(name: string, options?: InstrumentOptions): Instrument;
  createHistogram(name: string, options?: InstrumentOptions): OtelHistogram;
  addBatchObservableCallback(callback: BatchCallback<Instrument>, observables: Instrument[]): void;
  removeBatchObservableCallback(
    callback: BatchCallback<Instrument>,
    observables: Instrument[],
  ): void;
}

/**
 * Adds the metrics of generators to a meter.
 *
 * @returns a function that removes these generators again
 * @example
 * ```ts
 * import type { INestApplicationContext } from '@nestjs/common';
 * import { metrics } from '@opentelemetry/api';
 * import { IdMaker } from 'nestjs-snowflake';
 * import { registerOpenTelemetryMetrics } from 'nestjs-snowflake/metrics';
 *
 * export function addMetrics(app: INestApplicationContext): void {
 *   const meter = metrics.getMeter('nestjs-snowflake');
 *   registerOpenTelemetryMetrics(meter, [{ ids: app.get(IdMaker) }]);
 * }
 * ```
 */
export function registerOpenTelemetryMetrics<Instrument>(
  meter: OtelMeter<Instrument>,
  generators: readonly MeasuredGenerator[],
): () => void {
  return observed(meter, readersOf(generators, generatorReader), GENERATOR_METRICS);
}

/**
 * Adds the metrics of locks to a meter.
 *
 * @returns a function that removes these locks again
 * @example
 * ```ts
 * import type { INestApplicationContext } from '@nestjs/common';
 * import { metrics } from '@opentelemetry/api';
 * import { DistributedLock } from 'nestjs-snowflake/lock';
 * import { registerOpenTelemetryLockMetrics } from 'nestjs-snowflake/metrics';
 *
 * export function addMetrics(app: INestApplicationContext): void {
 *   const meter = metrics.getMeter('nestjs-snowflake');
 *   registerOpenTelemetryLockMetrics(meter, [{ locks: app.get(DistributedLock) }]);
 * }
 * ```
 */
export function registerOpenTelemetryLockMetrics<Instrument>(
  meter: OtelMeter<Instrument>,
  locks: readonly MeasuredLocks[],
): () => void {
  return observed(meter, readersOf(locks, lockReader), LOCK_METRICS);
}

function observed<Instrument, Reading>(
  meter: OtelMeter<Instrument>,
  readers: readonly ReaderOf<Reading>[],
  { metrics }: Family<Reading>,
): () => void {
  refuse(methods('createObservableGauge', 'addBatchObservableCallback')('meter', meter));
  const recorders = metrics.filter(isHistogram).map((metric) => durationRecorder(meter, metric));
  const observables = metrics.filter((metric) => !isHistogram(metric));
  const instruments = observables.map(({ kind, openTelemetry, help: description, unit }) =>
    kind === 'counter'
      ? meter.createObservableCounter(openTelemetry, { description, unit })
      : meter.createObservableGauge(openTelemetry, { description, unit }),
  );
  const observe = async (result: BatchResult<Instrument>) => {
    await Promise.all(readers.flatMap((reader) => reader.first?.() ?? []));
    for (const reader of readers) {
      const reading = reader.read();
      for (const record of recorders) record(reader, reading);
      for (const [at, metric] of observables.entries()) {
        for (const { labels, value } of samplesOf(metric, reader, reading)) {
          result.observe(instruments[at]!, value, labels);
        }
      }
    }
  };
  meter.addBatchObservableCallback(observe, instruments);
  return () => meter.removeBatchObservableCallback(observe, instruments);
}

const isHistogram = ({ kind }: Pick<MetricOf<never>, 'kind'>): boolean => kind === 'histogram';

/**
 * OpenTelemetry has no observable histogram, so the calls since the last collection are recorded.
 */
function durationRecorder<Instrument, Reading>(
  meter: OtelMeter<Instrument>,
  { openTelemetry: name, help: description, unit, durations }: MetricOf<Reading>,
): (reader: ReaderOf<Reading>, reading: Reading) => void {
  const explicitBucketBoundaries = DURATION_BOUNDS_MS.map((boundMs) => boundMs / 1000);
  const advice = { explicitBucketBoundaries };
  const histogram = meter.createHistogram(name, { description, unit, advice });
  const recorded = new Map<ReaderOf<Reading>, number>();
  return (reader, reading) => {
    const calls = durations?.(reading);
    if (calls === undefined) return;
    const total = calls.durations.reduce((sum, { count }) => sum + count, 0);
    const fresh = Math.min(total - (recorded.get(reader) ?? 0), calls.recent.length);
    recorded.set(reader, total);
    for (const { tookMs } of calls.recent.slice(calls.recent.length - fresh)) {
      histogram.record(tookMs / 1000, reader.labels(reading));
    }
  };
}

/*
 * A histogram for prom-client that is read at the scrape, unlike prom-client's own, which records
 * each observation.
 *
 * Guarantee: it holds all counts of the generator at the moment of the scrape, so two registries or
 * a late first scrape miss nothing.
 */

/** Implements the metric interface of a prom-client registry. */
export function readHistogram<Reading>(metric: MetricOf<Reading>, readers: Readers<Reading>) {
  const { prometheus: name, help, aggregator } = metric;
  const facts = { name, help, type: 'histogram', aggregator } as const;
  const get = async () => {
    const values = readers.read().flatMap(([reader, reading]) => valuesOf(metric, reader, reading));
    return { ...facts, values };
  };
  // No value is kept here.
  return { ...facts, get, reset: () => undefined };
}

function valuesOf<Reading>(
  { prometheus: name, durations }: MetricOf<Reading>,
  reader: ReaderOf<Reading>,
  reading: Reading,
) {
  const calls = durations?.(reading);
  if (calls === undefined) return [];
  const labels = reader.labels(reading);
  let count = 0;
  const buckets = calls.durations.map((span) => {
    count += span.count;
    const le = span.maxMs === Infinity ? '+Inf' : span.maxMs / 1000;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: calls.waitedMs / 1000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
