/**
 * `@SnowflakeId()`: declares the column and sees to it that instances of the class get their id.
 *
 * Promise: loading an entity touches no database and needs no application; the id is made when the
 * row is inserted. Plain objects have no listeners: they are the subscriber's.
 */
import { BeforeInsert, Column, type ColumnOptions } from 'typeorm';
import { addIntegration } from '../../nest/integrations.js';
import { hookDataSources } from './hook-data-source.js';
import { idText } from './id-text.js';
import { refuseDeclaration } from './refuse-declaration.js';
import { idForInsert, rememberColumn } from './snowflake-columns.js';

/** The column options that `@SnowflakeId()` decides itself. */
type Decided = 'type' | 'primary' | 'transformer' | 'default' | 'generated' | 'array';

export interface SnowflakeIdOptions extends Omit<ColumnOptions, Decided> {
  /**
   * `'bigint'`, unless the driver loses digits there, as those of SQLite do: then `'varchar'`.
   * A database compares text from the left, so such ids sort by time only while they have the
   * same number of digits.
   */
  readonly type?: 'bigint' | 'varchar';
  /** `false` makes an ordinary column. */
  readonly primary?: boolean;
  /** The `name` of the SnowflakeModule that makes the ids, where there are several. */
  readonly maker?: string;
}

/** The longest id, 9223372036854775807, has 19 digits. */
const TEXT_LENGTH = 20;

// Here and not in the entry: a bundler may skip the entry, but never the file of the decorator.
addIntegration(hookDataSources);

/**
 * A primary column that is given a snowflake id when its row is inserted, unless it has a value
 * already. The property is a string.
 *
 * It works with `save`, `insert`, `upsert`, the query builder and cascades, on entities and on
 * plain objects. The column keeps its first value: an update or an upsert never changes it.
 * Where TypeORM calls no listeners (`save(x, { listeners: false })`, `query()`) the id is yours
 * to set: without one the database refuses the row.
 *
 * In an entity, hold an embedded class that has such a column as an instance, as
 * `repository.create()` does: TypeORM calls its listener. Wholly plain objects may be nested.
 *
 * After an `upsert` that met an existing row, the object holds an id that was made for it and not
 * used: read the row's id from the database. TypeORM 0.3 would give the row that id if you
 * upserted the same object again, so pass a new one; TypeORM 1 leaves the row's id alone.
 *
 * @example
 * ```ts
 * import { SnowflakeId } from 'nestjs-snowflake/typeorm';
 * import { Column, Entity } from 'typeorm';
 *
 * @Entity()
 * class Order {
 *   @SnowflakeId()
 *   id!: string;
 *
 *   @SnowflakeId({ primary: false, maker: 'tickets', comment: 'shown to the customer' })
 *   ticket!: string;
 *
 *   @Column()
 *   note!: string;
 * }
 * ```
 */
export function SnowflakeId(options: SnowflakeIdOptions = {}): PropertyDecorator {
  const { type = 'bigint', primary = true, maker, ...passedOn } = options;
  const length = type === 'varchar' ? { length: TEXT_LENGTH } : {};
  // A row keeps its identity: upserting an object that holds an unused id must not re-key it.
  const update = primary ? { update: false } : {};
  const column = { ...length, ...update, ...passedOn, type, primary, transformer: idText };

  return (prototype, key) => {
    const property = String(key);
    refuseDeclaration(prototype, property, column);
    Column(column)(prototype, property);
    rememberColumn(prototype.constructor, property, maker);
    addListener(prototype, property, maker);
  };
}

/** Not enumerable, so that it shows up in no copy, comparison or JSON of an entity. */
function addListener(prototype: object, property: string, maker: string | undefined): void {
  const name = `fill ${property} with a snowflake id`;
  Object.defineProperty(prototype, name, {
    configurable: true,
    value(this: Record<string, unknown>): void {
      this[property] = idForInsert(this[property], maker);
    },
  });
  BeforeInsert()(prototype, name);
}
