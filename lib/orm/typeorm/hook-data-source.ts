/**
 * Adds the subscriber that makes ids to DataSources.
 *
 * Guarantee: a DataSource has it once, however often it is hooked, before or after `initialize()`.
 * Those that Nest provides are hooked by SnowflakeModule, before other modules' `onModuleInit`.
 */
import {
  EventSubscriber,
  InstanceChecker,
  type DataSource,
  type EntitySubscriberInterface,
  type InsertEvent,
} from 'typeorm';
import { runningIdMaker } from '../../nest/id-maker.js';
import { processWide } from '../../process-wide.js';
import { idForInsert, snowflakeColumns } from './snowflake-columns.js';

/**
 * They are remembered, since TypeORM's command line removes all subscribers before it runs
 * migrations.
 */
const hooked = processWide('hooked-data-sources', () => new Set<WeakRef<DataSource>>());

/**
 * Makes ids for `@SnowflakeId()` columns in a DataSource that you created yourself. DataSources of
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
  // The subscriber comes before the application's own ones, so that these find the id.
  if (isInitialized && !subscribers.some(isSnowflakeSubscriber)) {
    subscribers.unshift(new SnowflakeSubscriber());
  }
  return dataSource;
}

/** Returns the DataSources that still exist, and removes the others from the set. */
function remembered(): DataSource[] {
  return [...hooked].flatMap((reference) => {
    const dataSource = reference.deref();
    if (dataSource === undefined) hooked.delete(reference);
    return dataSource ?? [];
  });
}

/** `initialize()` creates all subscribers from the options. */
function hookOptions(dataSource: DataSource): void {
  const given = Object.values(dataSource.options.subscribers ?? []);
  if (given.some((each) => typeof each === 'function' && isSnowflakeSubscriber(each.prototype))) {
    return;
  }
  dataSource.setOptions({ subscribers: [SnowflakeSubscriber, ...given] });
}

/**
 * The integration that runs at start, with every provider of the application. A script has no
 * providers, but has hooked its DataSources itself.
 */
export function hookDataSources(instances: readonly unknown[]): void {
  const provided = instances.filter((instance) => InstanceChecker.isDataSource(instance));
  for (const dataSource of [...remembered(), ...(provided as DataSource[])]) {
    refuseWaiting(hook(dataSource));
  }
}

/** TypeORM cannot wait for an id: a generator that makes none at once is refused at the start. */
function refuseWaiting({ isInitialized, entityMetadatas }: DataSource): void {
  if (!isInitialized) return;
  const columns = entityMetadatas.flatMap((metadata) => [...snowflakeColumns(metadata)]);
  for (const generator of new Set(columns.map((column) => column.generator))) {
    const ids = runningIdMaker(generator);
    if (ids?.status?.kind === 'store') ids.nextIds(0);
  }
}

/*
 * Fills the ids of everything that a DataSource inserts, except if TypeORM calls no listeners.
 *
 * Guarantee: plain objects, which no entity listener sees, also have their ids before TypeORM
 * computes foreign keys from them.
 */

/**
 * The mark identifies the class, since a second copy of this package has another class of this
 * name.
 */
const MARK = Symbol.for('nestjs-snowflake:typeorm-subscriber');

@EventSubscriber()
class SnowflakeSubscriber implements EntitySubscriberInterface<object> {
  get [MARK](): true {
    return true;
  }

  beforeInsert({ entity, metadata }: InsertEvent<object>): void {
    // Contrary to its types, TypeORM passes no entity when it inserts a row of its own.
    if (!entity) return;
    for (const { column, generator } of snowflakeColumns(metadata)) {
      column.setEntityValue(entity, idForInsert(column.getEntityValue(entity), generator));
    }
  }
}

/** True for an instance of the subscriber, or its prototype, of any copy of this package. */
function isSnowflakeSubscriber(value: object): boolean {
  return MARK in value;
}
