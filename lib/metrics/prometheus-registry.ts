/**
 * The metrics of one family in registries of prom-client.
 *
 * Promise: values are read at the scrape, and a registry has each metric once, however many readers
 * are added to it.
 */
import { readHistogram } from './histogram.js';
import { samplesOf, type Family, type MetricOf, type ReadBy, type ReaderOf } from './metric.js';

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
  aggregator?: MetricOf<never>['aggregator'];
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

/** What is read at each scrape of a registry. */
export type ReadersByRegistry<Reading> = WeakMap<object, Set<ReaderOf<Reading>>>;

interface Place {
  readonly client: PromClient;
  readonly registry: PromRegistry;
}

/** @returns a function that removes these readers again */
export function addReaders<Reading>(
  added: readonly ReaderOf<Reading>[],
  family: Family<Reading>,
  place: Place,
  readersOf: ReadersByRegistry<Reading>,
): () => void {
  const readers = readersIn(family, place, readersOf);
  for (const reader of added) readers.add(reader);
  return () => {
    for (const reader of added) readers.delete(reader);
  };
}

function readersIn<Reading>(
  family: Family<Reading>,
  { client, registry }: Place,
  readersOf: ReadersByRegistry<Reading>,
): Set<ReaderOf<Reading>> {
  const known = readersOf.get(registry);
  // The registry may have been cleared since.
  const isThere = registry.getSingleMetric(family.metrics[0]!.prometheus) !== undefined;
  if (known !== undefined && isThere) return known;
  const readers = new Set<ReaderOf<Reading>>();
  for (const metric of family.metrics) {
    addMetric(metric, { client, registry }, { label: family.label, readers });
  }
  readersOf.set(registry, readers);
  return readers;
}

function addMetric<Reading>(
  metric: MetricOf<Reading>,
  { client, registry }: Place,
  read: ReadBy<Reading>,
): void {
  if (metric.kind === 'histogram') {
    registry.registerMetric(readHistogram(metric, read) as never);
    return;
  }
  const { prometheus: name, help, label, aggregator } = metric;
  const { readers } = read;
  const labelNames = label === undefined ? [read.label] : [read.label, label];
  const registers = [registry as never];
  const samples = () =>
    [...readers].flatMap((reader) =>
      samplesOf(metric, { [read.label]: reader.name }, reader.read()),
    );
  /** Values are written in one go, so that two scrapes at the same time do not mix. */
  const collecting = (fill: () => void) => () => {
    const firsts = metric.asksStore ? [...readers].flatMap((one) => one.first?.() ?? []) : [];
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
