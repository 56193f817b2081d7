/**
 * The metrics in a registry of prom-client, which the application passes in: prom-client is never
 * loaded from here.
 *
 * Promise: values are read at the scrape, and a registry has each metric once, however many
 * generators are added to it.
 */
import { GeneratorReader, type MeasuredGenerator } from './generator-reader.js';
import { processWide } from '../process-wide.js';
import { readHistogram } from './histogram.js';
import { METRICS, samplesOf, type Metric } from './metric-catalog.js';

/** What is used of prom-client: `import * as client from 'prom-client'`. */
export interface PromClient {
  readonly Counter: new (configuration: PromConfiguration) => PromCounter;
  readonly Gauge: new (configuration: PromConfiguration) => PromGauge;
  readonly register: PromRegistry;
}

export interface PromRegistry {
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
}

export interface PromConfiguration {
  name: string;
  help: string;
  labelNames?: string[];
  // A registry of the caller's version of prom-client, passed on as it is.
  registers?: never[];
  aggregator?: Metric['aggregator'];
  collect?: () => void | Promise<void>;
}

export interface PromCounter {
  reset(): void;
  inc(labels: Record<string, string>, value?: number): void;
}

export interface PromGauge {
  reset(): void;
  set(labels: Record<string, string>, value: number): void;
}

export interface PromOptions {
  /** Default: `register` of prom-client. */
  readonly registry?: PromRegistry;
}

/** The generators that are read at each scrape of a registry. */
const readersOf = processWide(
  'prometheus-readers',
  () => new WeakMap<object, Set<GeneratorReader>>(),
);

/**
 * Adds the metrics of generators to a registry.
 *
 * @returns a function that removes these generators again
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 * import { IdMaker, InjectIdMaker } from 'nestjs-snowflake';
 * import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
 * import * as client from 'prom-client';
 *
 * @Module({})
 * export class MetricsModule {
 *   constructor(ids: IdMaker, @InjectIdMaker('tickets') tickets: IdMaker) {
 *     registerPrometheusMetrics(client, [{ ids }, { name: 'tickets', ids: tickets }]);
 *   }
 * }
 * ```
 */
export function registerPrometheusMetrics(
  client: PromClient,
  generators: readonly MeasuredGenerator[],
  options: PromOptions = {},
): () => void {
  const registry = options.registry ?? client.register;
  const readers = readersIn(registry, client);
  const added = generators.map((generator) => new GeneratorReader(generator));
  for (const reader of added) readers.add(reader);
  return () => {
    for (const reader of added) readers.delete(reader);
  };
}

function readersIn(registry: PromRegistry, client: PromClient): Set<GeneratorReader> {
  const known = readersOf.get(registry);
  // The registry may have been cleared since.
  const isThere = registry.getSingleMetric(METRICS[0]!.prometheus) !== undefined;
  if (known !== undefined && isThere) return known;
  const readers = new Set<GeneratorReader>();
  for (const metric of METRICS) addMetric(metric, registry, client, readers);
  readersOf.set(registry, readers);
  return readers;
}

function addMetric(
  metric: Metric,
  registry: PromRegistry,
  client: PromClient,
  readers: ReadonlySet<GeneratorReader>,
): void {
  if (metric.kind === 'histogram') {
    registry.registerMetric(readHistogram(metric, readers) as never);
    return;
  }
  const { prometheus: name, help, label, aggregator } = metric;
  const labelNames = label === undefined ? ['generator'] : ['generator', label];
  const registers = [registry as never];
  const samples = () =>
    [...readers].flatMap((reader) => samplesOf(metric, reader.name, reader.read()));
  /** Values are written in one go, so that two scrapes at the same time do not mix. */
  const collecting = (fill: () => void) => () => {
    const firsts = metric.asksStore ? [...readers].flatMap((reader) => reader.first() ?? []) : [];
    return firsts.length === 0 ? fill() : Promise.all(firsts).then(fill);
  };
  const configuration = { name, help, labelNames, registers, aggregator };
  if (metric.kind === 'counter') {
    const collect = collecting(() => {
      // A counter of prom-client cannot be set, so each scrape resets it and adds our count.
      counter.reset();
      for (const { labels, value } of samples()) counter.inc(labels, value);
    });
    const counter = new client.Counter({ ...configuration, collect });
  } else {
    const collect = collecting(() => {
      gauge.reset();
      for (const { labels, value } of samples()) gauge.set(labels, value);
    });
    const gauge = new client.Gauge({ ...configuration, collect });
  }
}
