/**
 * Drivers that turn a bigint column into a number: an id is written exactly, and refused when it
 * is read. In a file of its own: pg keeps `parseInt8` for the whole process.
 */
import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import type { TestingModule } from '@nestjs/testing';
import { Column, DataSource, Entity, type DataSourceOptions } from 'typeorm';
import { SnowflakeId, hookDataSource } from 'nestjs-snowflake/typeorm';
import { startApplication } from './support/applications.js';
import { mariadb, postgres, sqljs, type Driver, type OpenDatabase } from './support/drivers.js';

@Entity()
class Note {
  @SnowflakeId()
  id: string;

  @Column()
  text: string;
}

let application: TestingModule;
let database: OpenDatabase;
let dataSource: DataSource;

beforeAll(async () => {
  application = await startApplication({});
});
afterAll(() => application.close());
afterEach(async () => {
  await dataSource.destroy();
  await database.close();
});

async function open(driver: Driver, settings: object): Promise<void> {
  database = await driver.open();
  const options = { ...database.options, ...settings, entities: [Note], synchronize: true };
  dataSource = hookDataSource(new DataSource(options as DataSourceOptions));
  await dataSource.initialize();
}

describe.each([
  ['PostgreSQL with parseInt8', postgres, { parseInt8: true }, 'TEXT'],
  ['MariaDB without supportBigNumbers', mariadb, { supportBigNumbers: false }, 'CHAR'],
  ['sql.js with a bigint column', sqljs, {}, 'TEXT'],
])('%s', (_, driver, settings, textType) => {
  it('stores the id exactly, refuses to read it, and makes no second row', async () => {
    await open(driver, settings);
    const notes = dataSource.getRepository(Note);
    const { id } = await notes.save({ text: 'exact' });
    const refused = { code: 'ID_INVALID', details: { value: Number(id) } };
    await expect(notes.find()).rejects.toMatchObject(refused);
    await expect(notes.findOneBy({ id })).rejects.toMatchObject(refused);
    await expect(notes.save({ id, text: 'again' })).rejects.toMatchObject(refused);
    const sql = `SELECT CAST(id AS ${textType}) AS id, text FROM note`;
    expect(await dataSource.query(sql)).toEqual([{ id, text: 'exact' }]);
  });

  it('reads small ids, which are exact', async () => {
    await open(driver, settings);
    const notes = dataSource.getRepository(Note);
    await notes.save({ id: '42', text: 'small' });
    await notes.save({ id: '42', text: 'changed' });
    expect(await notes.find()).toEqual([{ id: '42', text: 'changed' }]);
  });
});

it('MariaDB with bigNumberStrings: false mixes text and numbers, and all are exact', async () => {
  await open(mariadb, { supportBigNumbers: true, bigNumberStrings: false });
  const notes = dataSource.getRepository(Note);
  const { id } = await notes.save({ text: 'b' });
  await notes.save({ id: '42', text: 'a' });
  expect(await notes.find({ order: { text: 'ASC' } })).toEqual([
    { id: '42', text: 'a' },
    { id, text: 'b' },
  ]);
});
