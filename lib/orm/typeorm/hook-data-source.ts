/**
 * Adds the subscriber that generates IDs to DataSources, and finds the columns that it fills.
 *
 * Guarantee: a DataSource has the subscriber once, however often it is hooked, before or after
 * `initialize()`. SnowflakeModule hooks those that Nest provides, before other modules'
 * `onModuleInit`.
 */
import {
  EventSubscriber,
  InstanceChecker,
  type AfterQueryEvent,
  type BeforeQueryEvent,
  type DataSource,
  type EntityMetadata,
  type EntitySubscriberInterface,
  type InsertEvent,
  type QueryRunner,
  type ValueTransformer,
} from 'typeorm';
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import { currentIdMaker, runningIdMaker } from '../../nest/id-maker.js';
import { processWide } from '../../process-wide.js';
import { exactText, refusedReading, refuseLostDigits, textToSend } from '../exact-text.js';

/**
 * The set keeps them, because TypeORM's command line removes all subscribers before it runs
 * migrations.
 */
const hooked = processWide('hooked-data-sources', () => new Set<WeakRef<DataSource>>());

/**
 * Generates IDs for `@SnowflakeId()` columns in a DataSource that you created yourself. DataSources
 * of `TypeOrmModule`, and any other that is a provider of the application, need no call.
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
  // This subscriber comes before the application's own ones, so that they find the ID.
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

/**
 * TypeORM cannot wait for an ID, so a generator that must wait for its IDs is rejected at start.
 */
function refuseWaiting({ isInitialized, entityMetadatas }: DataSource): void {
  if (!isInitialized) return;
  const columns = entityMetadatas.flatMap((metadata) => [...snowflakeColumns(metadata)]);
  for (const generator of new Set(columns.map((column) => column.generator))) {
    const ids = runningIdMaker(generator);
    if (ids?.status?.kind === 'store') ids.nextIds(0);
  }
}

/*
 * Fills in the IDs of everything that a DataSource inserts, unless TypeORM calls no listeners.
 *
 * Guarantee: plain objects, which have no entity listener, also get their IDs before TypeORM
 * computes foreign keys from them.
 */

/**
 * The mark identifies the class, because a second copy of this package has another class of this
 * name.
 */
const MARK = Symbol.for('nestjs-snowflake:typeorm-subscriber');

@EventSubscriber()
class SnowflakeSubscriber implements EntitySubscriberInterface<object> {
  get [MARK](): true {
    return true;
  }

  /** Maps the ID of each row to insert to its table. */
  private readonly pending = new WeakMap<QueryRunner, Map<unknown, string>>();

  beforeInsert({ entity, metadata, queryRunner }: InsertEvent<object>): void {
    // Contrary to its types, TypeORM passes no entity when it inserts a row of its own.
    if (!entity) return;
    const pending = this.pending.get(queryRunner) ?? new Map<unknown, string>();
    this.pending.set(queryRunner, pending);
    for (const { column, generator } of snowflakeColumns(metadata)) {
      const id = idForInsert(column.getEntityValue(entity), generator);
      column.setEntityValue(entity, id);
      pending.set(id, metadata.tableName);
    }
  }

  /** Explains a failed foreign key: the same save() has not inserted the other row yet. */
  afterQuery({ query, parameters, success, error, queryRunner }: AfterQueryEvent): void {
    const pending = this.pending.get(queryRunner);
    if (pending === undefined || !Array.isArray(parameters)) return;
    const [, table] = INSERTED.exec(query) ?? [];
    if (table === undefined) return;
    const isMissing = (id: unknown, at: number) =>
      pending.has(id) && (pending.get(id) !== table || parameters.indexOf(id) !== at);
    const missing = success ? undefined : (parameters as unknown[]).find(isMissing);
    for (const id of parameters as unknown[]) if (missing === undefined) pending.delete(id);
    if (missing === undefined || !FOREIGN_KEY.test(String(error))) return;
    (error as Error).message += insertedLater(table, pending.get(missing)!, missing);
  }

  /** The values of setParameter() and whereInIds() bypass the transformer of a column. */
  beforeQuery({ query, parameters }: BeforeQueryEvent): void {
    if (CONDITIONAL.test(query)) refuseLostDigits(parameters);
  }
}

const INSERTED = /^\s*INSERT INTO\s+(?:\S+\.)?[`"](\w+)[`"]/i;
const FOREIGN_KEY = /foreign key constraint/i;

function insertedLater(table: string, target: string, id: unknown): string {
  return (
    `. The row of ${table} refers to the new row ${format(id)} of ${target}, which the same save() ` +
    'would insert later: TypeORM orders by relations that are needed alone. Save that row first, ' +
    'or from its side with this row in it; or declare the relation `nullable: false`; or, except ' +
    "on MariaDB and MySQL, `deferrable: 'INITIALLY DEFERRED'`"
  );
}

/** Statements whose parameters select rows. */
const CONDITIONAL = /^\s*(select|update|delete|with)\b/i;
/** True for an instance of the subscriber, or its prototype, of any copy of this package. */
function isSnowflakeSubscriber(value: object): boolean {
  return MARK in value;
}

/*
 * Finds the columns to fill with IDs, which `@SnowflakeId()` recorded, by TypeORM's metadata.
 *
 * Guarantee: a column is found by its decorated class, so base classes, single-table children and
 * embedded classes work. Junction tables and foreign keys are not touched.
 */

/** A column that is filled on insert, and the name of its generator. */
interface SnowflakeColumn {
  readonly column: EntityMetadata['columns'][number];
  readonly generator: string | undefined;
}

/** Maps a decorated class to its properties, and those to the names of their generators. */
const decorated = processWide(
  'typeorm-properties',
  () => new WeakMap<object, Map<string, string | undefined>>(),
);
const found = processWide(
  'typeorm-columns',
  () => new WeakMap<EntityMetadata, readonly SnowflakeColumn[]>(),
);

export function recordColumn(target: object, property: string, generator?: string): void {
  const properties = decorated.get(target) ?? new Map<string, string | undefined>();
  decorated.set(target, properties.set(property, generator));
}

function snowflakeColumns(metadata: EntityMetadata): readonly SnowflakeColumn[] {
  const known = found.get(metadata);
  if (known !== undefined) return known;
  const columns = metadata.columns.flatMap((column) => {
    const { target, propertyName } = column;
    if (typeof target !== 'function' || isOfChild(target, metadata.target)) return [];
    const properties = decorated.get(target);
    if (!properties?.has(propertyName)) return [];
    return [{ column, generator: properties.get(propertyName) }];
  });
  found.set(metadata, columns);
  return columns;
}

/** With single-table inheritance, the parent's table also has the columns of its children. */
function isOfChild(target: Function, entity: EntityMetadata['target']): boolean {
  return typeof entity === 'function' && target.prototype instanceof entity;
}

/**
 * Returns the value of the property in the inserted row: a new ID if it was empty, otherwise its
 * value as a string, because a later read returns a string.
 * @throws SnowflakeError ID_INVALID for a number, with which TypeORM would not find the row again
 */
export function idForInsert(value: unknown, generator: string | undefined): unknown {
  if (value === null || value === undefined) return currentIdMaker(generator).nextIdString();
  if (typeof value !== 'number') return typeof value === 'bigint' ? String(value) : value;
  throw new SnowflakeError(
    'ID_INVALID',
    `Expected the id of a new row as text, got ${format(value)}. Nothing was sent to the ` +
      `database. Ids are strings: TypeORM compares the id with the text it reads, and would take ` +
      `an existing row for a new one. Write '${value}', or leave it out for a new id.`,
    { details: { value } },
  );
}

/*
 * Converts an ID between an entity, where it is always a decimal string, and the database.
 *
 * Guarantee: the digits are the same on both sides, or a SnowflakeError explains the difference.
 */

const ADVICE =
  'The row was not loaded. Make the driver return text: PostgreSQL without `parseInt8: true`; ' +
  'MySQL and MariaDB with `supportBigNumbers: true`; on SQLite declare the column as ' +
  "`@SnowflakeId({ type: 'varchar' })`.";

/**
 * The transformer of `@SnowflakeId()`, for columns that hold an ID but must not get a new one, such
 * as a foreign key column that you declare yourself.
 *
 * @example
 * ```ts
 * import { idText } from 'nestjs-snowflake/typeorm';
 * import { Column } from 'typeorm';
 *
 * class Order {@Column({ type: 'bigint', transformer: idText }) customerId!: string}
 * ```
 */
export const idText: ValueTransformer = { to: toDatabase, from: fromDatabase };

function toDatabase(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  // `Any([...])` passes its list as a whole; every other operator passes one value at a time.
  if (Array.isArray(value)) return value.map(toDatabase);
  // Inside `And()` and `Or()` TypeORM 0.3 passes the operators, TypeORM 1 their values.
  if (InstanceChecker.isFindOperator(value)) {
    value.transformValue(idText);
    return value;
  }
  // `values({ id: () => 'SQL' })` is an expression for the database.
  if (typeof value === 'function') return value;
  return textToSend(value);
}

function fromDatabase(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const text = exactText(value);
  if (text !== '') return text;
  throw refusedReading(value, ADVICE);
}
