/**
 * `@SnowflakeId()`: declares the column and a listener that gives instances of the class their ID.
 * Plain objects have no listeners; the subscriber fills in their IDs.
 *
 * Guarantee: loading an entity requires neither a database nor an application, because the ID is
 * generated when the row is inserted.
 */
import { BeforeInsert, Column, type ColumnOptions } from 'typeorm';
import type { SnowflakeId as IdOf } from '../../core/text/text-form.js';
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import { addIntegration } from '../../nest/generator-run.js';
import { nameFaults, nearest, refuse, typed } from '../../options.js';
import { hookDataSources, idForInsert, idText, recordColumn } from './hook-data-source.js';

/** The column options that `@SnowflakeId()` sets itself. */
type Decided = 'type' | 'primary' | 'transformer' | 'default' | 'generated' | 'array';

/** Options of `@SnowflakeId()`. */
export interface SnowflakeIdOptions extends Omit<ColumnOptions, Decided> {
  /**
   * Default `'bigint'`. Use `'varchar'` if the driver loses digits of a bigint, as SQLite drivers
   * do. Databases compare strings from the left, so such IDs sort by time only while they have the
   * same digit count.
   */
  readonly type?: 'bigint' | 'varchar' | undefined;
  /** Default true; `false` creates an ordinary column. */
  readonly primary?: boolean | undefined;
  /** The generator of the IDs, by its `name`. Default: the one without a name. */
  readonly generator?: string | undefined;
}

/** A PropertyDecorator that does not compile on a numeric property. */
export interface SnowflakeIdDecorator {
  /**
   * Accepts a type that is certainly a string, even in a class with the ID's type as a parameter.
   */
  <Key extends string | symbol>(prototype: { readonly [_ in Key]?: string | null }, key: Key): void;
  /** Accepts a type that may be a string, such as `unknown` or a private one. */
  <Entity extends object, Key extends string | symbol>(
    prototype: Entity & MayBeText<Entity, Key>,
    key: Key,
  ): void;
}

type MayBeText<Entity, Key> = Key extends keyof Entity
  ? [Extract<Entity[Key], number | bigint>] extends [never]
    ? unknown
    : NumbersRefused
  : unknown;

/** The compiler shows this if it rejects a property. */
interface NumbersRefused {
  readonly 'Declare it as string: TypeORM sets it to one, since a number loses digits': true;
}

/**
 * The string type of an ID, optionally for one kind of entity. It equals `SnowflakeId` of
 * `nestjs-snowflake`, so that one import provides the decorator and the type of its property.
 */
export type SnowflakeId<Kind extends string = string> = IdOf<Kind>;

/** The longest ID, 9223372036854775807, has 19 digits. */
const TEXT_LENGTH = 20;

// Here and not in index.ts: a bundler may omit that file, but never this one with the decorator.
addIntegration(hookDataSources);

/**
 * A primary column that gets a snowflake ID when its row is inserted, unless it has a value. The
 * property is a string; a numeric one does not compile.
 *
 * It works with `save`, `insert`, `upsert`, the query builder and cascades, on entities and on
 * plain objects. The column keeps its first value: an update or an upsert never changes it. Set the
 * ID yourself if TypeORM calls no listeners (`save(x, { listeners: false })`, `query()`).
 * Otherwise, the database rejects the row.
 *
 * If an entity has an embedded class with such a column, the embedded object must be an instance,
 * as `repository.create()` creates it, because TypeORM calls its listener. In a plain object, it
 * may be plain.
 *
 * After an `upsert` that found an existing row, the object holds an unused new ID: read the row's
 * ID from the database. TypeORM 0.3 would write the unused ID if you upserted the same object
 * again, so pass a new object. TypeORM 1 does not change the row's ID.
 *
 * @example
 * ```ts
 * import { SnowflakeId } from 'nestjs-snowflake/typeorm';
 *
 * class Order {@SnowflakeId() id!: string}
 * class Ticket {@SnowflakeId({ primary: false, generator: 'tickets' }) number!: string}
 * ```
 */
export function SnowflakeId(options: SnowflakeIdOptions = {}): SnowflakeIdDecorator {
  const { type = 'bigint', primary = true, generator, ...passedOn } = options;
  refuse([
    ...typed('boolean')('primary', primary),
    ...(generator === undefined ? [] : nameFaults('generator', generator)),
  ]);
  const length = type === 'varchar' ? { length: TEXT_LENGTH } : {};
  // Upserting an object that holds an unused ID must not change the key of the row.
  const update = primary ? { update: false } : {};
  const column = { ...length, ...update, ...passedOn, type, primary, transformer: idText };

  return (prototype: object, key: string | symbol) => {
    const property = String(key);
    refuseDeclaration(prototype, property, column);
    Column(column)(prototype, property);
    recordColumn(prototype.constructor, property, generator);
    addListener(prototype, property, generator);
  };
}

/** Not enumerable, so that no copy, comparison or JSON of an entity contains it. */
function addListener(prototype: object, property: string, generator: string | undefined): void {
  const name = `fill ${property} with a snowflake id`;
  Object.defineProperty(prototype, name, {
    configurable: true,
    value(this: Record<string, unknown>): void {
      this[property] = idForInsert(this[property], generator);
    },
  });
  BeforeInsert()(prototype, name);
}

/*
 * Rejects a `@SnowflakeId()` that could not keep IDs exact or rows distinct.
 *
 * The error is thrown when the class is loaded, before there is any row. The type of the property
 * is checked only with `emitDecoratorMetadata`, which records it.
 */

const OWN_OPTIONS = ['type', 'primary', 'generator'];

function refuseDeclaration(prototype: object, property: string, column: ColumnOptions): void {
  const { type, primary, nullable } = column;
  const fault =
    propertyFault(prototype, property) ??
    nameFault(column) ??
    typeFault(type) ??
    (primary && nullable ? 'A primary column cannot be `nullable`; leave it out.' : undefined);
  if (fault === undefined) return;
  const where = `${prototype.constructor.name}.${property}`;
  throw new SnowflakeError('CONFIG_INVALID', `@SnowflakeId() on ${where}: ${fault}`, {
    details: { property: where },
  });
}

function propertyFault(prototype: object, property: string): string | undefined {
  const reflect = Reflect as { getMetadata?: (...of: [string, object, string]) => unknown };
  const declared = reflect.getMetadata?.('design:type', prototype, property);
  if (declared !== Number && declared !== BigInt) return undefined;
  return (
    `The property is declared as ${declared === Number ? 'number' : 'bigint'}, but TypeORM sets ` +
    'it to a string: a number is not exact beyond 2^53, and TypeORM cannot use bigint keys. ' +
    `Declare it as \`${property}: string\`.`
  );
}

/** Any other name is an option of TypeORM, which adds more of them in each version. */
function nameFault(column: ColumnOptions): string | undefined {
  if ('maker' in column) return 'The option `maker` is called `generator` now.';
  for (const name of Object.keys(column)) {
    const meant = OWN_OPTIONS.includes(name) ? undefined : nearest(name, OWN_OPTIONS);
    if (meant !== undefined) return `There is no option \`${name}\`. Did you mean \`${meant}\`?`;
  }
  return undefined;
}

function typeFault(type: unknown): string | undefined {
  if (type === 'bigint' || type === 'varchar') return undefined;
  return `Expected \`type\` to be 'bigint' or 'varchar', got ${format(type)}.`;
}
