/**
 * Fills the ids of everything that a DataSource inserts, except where TypeORM calls no listeners.
 *
 * Promise: plain objects, which no entity listener sees, also have their ids before TypeORM
 * computes foreign keys from them.
 */
import { EventSubscriber, type EntitySubscriberInterface, type InsertEvent } from 'typeorm';
import { idForInsert, snowflakeColumns } from './snowflake-columns.js';

/** Marks the class, since a second copy of this package has another class of this name. */
const MARK = Symbol.for('nestjs-snowflake:typeorm-subscriber');

@EventSubscriber()
export class SnowflakeSubscriber implements EntitySubscriberInterface<object> {
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
export function isSnowflakeSubscriber(value: object): boolean {
  return MARK in value;
}
