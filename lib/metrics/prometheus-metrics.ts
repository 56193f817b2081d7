/**
 * The metrics in a registry of prom-client. The application passes it in; prom-client is never
 * loaded from here.
 */
import { methods, refuse, unknownNames } from '../options.js';
import { processWide } from '../process-wide.js';
import {
  GENERATOR_METRICS,
  LOCK_METRICS,
  lockReader,
  type LockReading,
  type MeasuredLocks,
} from './metric-catalog.js';
import {
  generatorReader,
  Readers,
  readersOf,
  samplesOf,
  type Family,
  type GeneratorReading,
  type MeasuredGenerator,
  type MetricOf,
} from './metric.js';
import { readHistogram } from './open-telemetry-metrics.js';

/** Options for prom-client. */
export interface PromOptions {
  /** The default is `register` of prom-client. */
  readonly registry?: PromRegistry | undefined;
}

const generatorsOf = processWide(
  'prometheus-readers',
  (): ReadersByRegistry<GeneratorReading> => new WeakMap(),
);
const locksOf = processWide(
  'prometheus-lock-readers',
  (): ReadersByRegistry<LockReading> => new WeakMap(),
);

/**
 * Adds the metrics of generators to a registry.
 *
 * @returns a function that removes these generators again
 * @example
 * ```ts
 * import type { INestApplicationContext } from '@nestjs/common';
 * import { IdMaker, getIdMakerToken } from 'nestjs-snowflake';
 * import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
 * import * as client from 'prom-client';
 *
 * export function addMetrics(app: INestApplicationContext): void {
 *   registerPrometheusMetrics(client, [
 *     { ids: app.get(IdMaker) },
 *     { name: 'tickets', ids: app.get(getIdMakerToken('tickets')) },
 *   ]);
 * }
 * ```
 */
export function registerPrometheusMetrics(
  client: PromClient,
  generators: readonly MeasuredGenerator[],
  options: PromOptions = {},
): () => void {
  const registry = registryOf(client, options);
  const added = readersOf(generators, generatorReader);
  return readersIn(GENERATOR_METRICS, client, registry, generatorsOf).add(added);
}

/**
 * Adds the metrics of locks to a registry.
 *
 * @returns a function that removes these locks again
 * @example
 * ```ts
 * import type { INestApplicationContext } from '@nestjs/common';
 * import { DistributedLock } from 'nestjs-snowflake/lock';
 * import { registerPrometheusLockMetrics } from 'nestjs-snowflake/metrics';
 * import * as client from 'prom-client';
 *
 * export function addMetrics(app: INestApplicationContext): void {
 *   registerPrometheusLockMetrics(client, [{ locks: app.get(DistributedLock) }]);
 * }
 * ```
 */
export function registerPrometheusLockMetrics(
  client: PromClient,
  locks: readonly MeasuredLocks[],
  options: PromOptions = {},
): () => void {
  const registry = registryOf(client, options);
  const added = readersOf(locks, lockReader);
  return readersIn(LOCK_METRICS, client, registry, locksOf).add(added);
}

function registryOf(client: PromClient, options: PromOptions): PromRegistry {
  refuse(methods('Counter', 'Gauge')('client', client));
  const strangers = unknownNames(options, 'registry', 'The registration');
  const { registry = client.register } = options;
  const isRegistry = methods('getSingleMetric', 'registerMetric');
  refuse([...strangers, ...isRegistry('registry', registry)]);
  return registry;
}

/*
 * The metrics of one family in registries of prom-client.
 *
 * Guarantee: values are read at the scrape, and a registry has each metric once, regardless of the
 * number of readers.
 */

/** The used part of prom-client: `import * as client from 'prom-client'`. */
export interface PromClient {
  readonly Counter: new (configuration: PromConfiguration) => PromCounter;
  readonly Gauge: new (configuration: PromConfiguration) => PromGauge;
  readonly register: PromRegistry;
}

interface PromRegistry {
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
}

interface PromConfiguration {
  name: string;
  help: string;
  labelNames?: string[];
  // The registry of the caller's version of prom-client, passed on unchanged.
  registers?: never[];
  aggregator?: MetricOf<never>['aggregator'];
  collect?: () => void | Promise<void>;
}

interface PromCounter {
  reset(): void;
  inc(labels: Record<string, string>, value?: number): void;
}

interface PromGauge {
  reset(): void;
  set(labels: Record<string, string>, value: number): void;
}

/** The readers of each registry, read at every scrape. */
type ReadersByRegistry<Reading> = WeakMap<object, Readers<Reading>>;

function readersIn<Reading>(
  family: Family<Reading>,
  client: PromClient,
  registry: PromRegistry,
  readersOf: ReadersByRegistry<Reading>,
): Readers<Reading> {
  const known = readersOf.get(registry);
  // The registry may have been cleared since the last call.
  const isThere = registry.getSingleMetric(family.metrics[0]!.prometheus) !== undefined;
  if (known !== undefined && isThere) return known;
  const readers = new Readers<Reading>();
  for (const metric of family.metrics) {
    if (metric.kind === 'histogram') {
      registry.registerMetric(readHistogram(metric, readers) as never);
      continue;
    }
    const { prometheus: name, help, labels: own = [], aggregator } = metric;
    const labelNames = [...family.labels, ...own];
    const collect = () => {
      const asked = metric.asksStore ? [...readers.added] : [];
      const firsts = asked.flatMap((reader) => reader.first?.() ?? []);
      return firsts.length === 0 ? fill() : Promise.all(firsts).then(fill);
    };
    const registers = [registry as never];
    const configuration = { name, help, labelNames, registers, aggregator, collect };
    const written =
      metric.kind === 'counter'
        ? new client.Counter(configuration)
        : new client.Gauge(configuration);
    /** All values are written in one turn, so that concurrent scrapes do not mix. */
    const fill = () => {
      // A counter of prom-client cannot be set, so each scrape resets it and adds the count.
      written.reset();
      for (const [reader, reading] of readers.read()) {
        for (const { labels, value } of samplesOf(metric, reader, reading)) {
          if ('set' in written) written.set(labels, value);
          else written.inc(labels, value);
        }
      }
    };
  }
  readersOf.set(registry, readers);
  return readers;
}
