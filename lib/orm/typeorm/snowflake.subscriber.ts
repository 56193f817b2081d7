/**
 * Fills the ids of whatever a DataSource inserts.
 *
 * Promise: also plain objects, which no entity listener sees, have their ids before TypeORM
 * computes foreign keys from them. Nothing is filled where TypeORM is told to call no listeners.
 */
import { EventSubscriber, type EntitySubscriberInterface, type InsertEvent } from 'typeorm';
import { idForInsert, snowflakeColumns } from './snowflake-columns.js';

@EventSubscriber()
export class SnowflakeSubscriber implements EntitySubscriberInterface<object> {
  beforeInsert({ entity, metadata }: InsertEvent<object>): void {
    // TypeORM passes no entity where it inserts a row that nobody gave, whatever its types say.
    if (!entity) return;
    for (const { column, maker } of snowflakeColumns(metadata)) {
      column.setEntityValue(entity, idForInsert(column.getEntityValue(entity), maker));
    }
  }
}
