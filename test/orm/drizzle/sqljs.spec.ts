import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle, type SQLJsDatabase } from 'drizzle-orm/sql-js';
import { customType, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { currentIdMaker, type RunningSnowflake } from 'nestjs-snowflake';
import { snowflakeColumn, type SnowflakeColumn } from 'nestjs-snowflake/drizzle';
import { EARLIER_ID, isMade, startGenerator } from '../odd-ids.js';

const snowflake = customType<SnowflakeColumn>(snowflakeColumn);
const newId = (): string => currentIdMaker().nextIdString();

const notes = sqliteTable('notes', {
  id: snowflake({ type: 'varchar' }).primaryKey().notNull().$defaultFn(newId),
  note: text(),
});
/** Of the same rows, in a column whose digits the driver loses. */
const lossyNotes = sqliteTable('lossy_notes', { id: snowflake().primaryKey().$defaultFn(newId) });

describe('Drizzle on SQLite', () => {
  let running: RunningSnowflake;
  let db: SQLJsDatabase;

  beforeAll(async () => {
    running = await startGenerator();
    const start = createRequire(import.meta.url)('sql.js') as () => Promise<{
      Database: new () => Parameters<typeof drizzle>[0];
    }>;
    const { Database } = await start();
    db = drizzle(new Database());
    db.run(sql`CREATE TABLE notes (id varchar(20) PRIMARY KEY NOT NULL, note text)`);
    db.run(sql`CREATE TABLE lossy_notes (id bigint PRIMARY KEY NOT NULL)`);
  });
  afterAll(() => running?.close());

  it('fills a column of text, and reads the same digits', () => {
    db.insert(notes)
      .values([{}, { id: EARLIER_ID }])
      .run();
    const ids = db
      .select()
      .from(notes)
      .orderBy(notes.id)
      .all()
      .map((row) => row.id);
    expect([ids.filter(isMade).length, ids.includes(EARLIER_ID)]).toEqual([1, true]);
  });

  it('refuses to read a column of numbers, whose digits the driver loses', () => {
    db.insert(lossyNotes).values({}).run();
    const read = () => db.select().from(lossyNotes).all();
    expect(read).toThrow(expect.objectContaining({ code: 'ID_INVALID' }));
    expect(read).toThrow(/type: 'varchar'/);
  });

  it('leaves a row without a key to SQLite, which refuses it where the column is NOT NULL', () => {
    expect(() => db.run(sql`INSERT INTO notes (note) VALUES ('raw')`)).toThrow(
      /NOT NULL constraint failed: notes.id|Failed to run the query/,
    );
  });

  it('refuses a text that is no id, on the way in and on the way out', () => {
    const refused = expect.objectContaining({ code: 'ID_INVALID', details: { value: 'abc' } });
    expect(() => db.insert(notes).values({ id: 'abc' }).run()).toThrow(refused);
    db.run(sql`INSERT INTO notes (id) VALUES ('abc')`);
    expect(() => db.select().from(notes).all()).toThrow(refused);
  });
});
