/**
 * The metrics in a registry of prom-client, which the application passes in: prom-client is never
 * loaded from here.
 */
import type { LockStatus } from '../lock/holding/distributed-lock.js';
import { methodFaults, refuse, unknownNames } from '../option-faults.js';
import { processWide } from '../process-wide.js';
import {
  GeneratorReader,
  type GeneratorReading,
  type MeasuredGenerator,
} from './generator-reader.js';
import { LOCK_METRICS, lockReader, type MeasuredLocks } from './lock-catalog.js';
import { GENERATOR_METRICS } from './metric-catalog.js';
import {
  addReaders,
  type PromClient,
  type PromRegistry,
  type ReadersByRegistry,
} from './prometheus-registry.js';

/** Where the metrics of prom-client are registered. */
export interface PromOptions {
  /** Default: `register` of prom-client. */
  readonly registry?: PromRegistry | undefined;
}

const generatorsOf = processWide(
  'prometheus-readers',
  (): ReadersByRegistry<GeneratorReading> => new WeakMap(),
);
const locksOf = processWide(
  'prometheus-lock-readers',
  (): ReadersByRegistry<LockStatus> => new WeakMap(),
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
  const added = generators.map((generator) => new GeneratorReader(generator));
  return addReaders(added, GENERATOR_METRICS, { client, registry }, generatorsOf);
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
  return addReaders(locks.map(lockReader), LOCK_METRICS, { client, registry }, locksOf);
}

function registryOf(client: PromClient, options: PromOptions): PromRegistry {
  const strangers = unknownNames(options, 'registry', 'The registration');
  const { registry = client.register } = options;
  const methods = ['getSingleMetric', 'registerMetric'];
  refuse([...strangers, ...methodFaults('registry', registry, methods)]);
  return registry;
}
