/**
 * Brings the subscriber to the DataSources.
 *
 * Promise: a DataSource has it once, however often it is hooked, before or after `initialize()`.
 * Those in Nest's container are hooked by SnowflakeModule, before other modules' `onModuleInit`.
 */
import { InstanceChecker, type DataSource } from 'typeorm';
import { SnowflakeSubscriber } from './snowflake.subscriber.js';

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
  hookOptions(dataSource);
  const { subscribers, isInitialized } = dataSource;
  const hooked = subscribers.some((subscriber) => subscriber instanceof SnowflakeSubscriber);
  // Ahead of the application's own subscribers, which then find the id in place.
  if (isInitialized && !hooked) subscribers.unshift(new SnowflakeSubscriber());
  return dataSource;
}

/** `initialize()` makes all subscribers anew from the options. */
function hookOptions(dataSource: DataSource): void {
  const given = Object.values(dataSource.options.subscribers ?? []);
  if (given.includes(SnowflakeSubscriber)) return;
  dataSource.setOptions({ subscribers: [SnowflakeSubscriber, ...given] });
}

/** The integration that SnowflakeModule calls with everything the application provides. */
export function hookDataSources(instances: readonly unknown[]): void {
  for (const instance of instances) {
    if (InstanceChecker.isDataSource(instance)) hookDataSource(instance);
  }
}
