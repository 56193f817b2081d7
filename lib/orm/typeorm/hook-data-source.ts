/**
 * Brings the subscriber to the DataSources.
 *
 * Promise: a DataSource has it once, however often it is hooked, before or after `initialize()`.
 * Those in Nest's container are hooked by SnowflakeModule, before other modules' `onModuleInit`.
 */
import { InstanceChecker, type DataSource } from 'typeorm';
import { processWide } from '../../process-wide.js';
import { SnowflakeSubscriber } from './snowflake.subscriber.js';

/** TypeORM's command line takes the subscribers away again before it runs migrations. */
const hooked = processWide('hooked-data-sources', () => new Set<WeakRef<DataSource>>());

/**
 * Gives `@SnowflakeId()` columns their ids in a DataSource that you made yourself. Those of
 * `TypeOrmModule`, and any other that is a provider of the application, need no call.
 *
 * @example
 * ```ts
 * import { hookDataSource } from 'nestjs-snowflake/typeorm';
 * import { DataSource } from 'typeorm';
 *
 * const tenant = hookDataSource(new DataSource({ type: 'postgres', url: 'postgres://tenant-7' }));
 * ```
 */
export function hookDataSource(dataSource: DataSource): DataSource {
  if (!remembered().includes(dataSource)) hooked.add(new WeakRef(dataSource));
  return hook(dataSource);
}

function hook(dataSource: DataSource): DataSource {
  hookOptions(dataSource);
  const { subscribers, isInitialized } = dataSource;
  const isHooked = subscribers.some((subscriber) => subscriber instanceof SnowflakeSubscriber);
  // Ahead of the application's own subscribers, which then find the id in place.
  if (isInitialized && !isHooked) subscribers.unshift(new SnowflakeSubscriber());
  return dataSource;
}

/** Those that are still there; the others are forgotten. */
function remembered(): DataSource[] {
  return [...hooked].flatMap((reference) => {
    const dataSource = reference.deref();
    if (dataSource === undefined) hooked.delete(reference);
    return dataSource ?? [];
  });
}

/** `initialize()` makes all subscribers anew from the options. */
function hookOptions(dataSource: DataSource): void {
  const given = Object.values(dataSource.options.subscribers ?? []);
  if (given.includes(SnowflakeSubscriber)) return;
  dataSource.setOptions({ subscribers: [SnowflakeSubscriber, ...given] });
}

/**
 * The integration that a start calls with everything the application provides; a script provides
 * nothing, but has hooked its DataSources itself.
 */
export function hookDataSources(instances: readonly unknown[]): void {
  const provided = instances.filter((instance) => InstanceChecker.isDataSource(instance));
  for (const dataSource of [...remembered(), ...(provided as DataSource[])]) hook(dataSource);
}
