/** DataSources that Nest does not know. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { TestingModule } from '@nestjs/testing';
import {
  Column,
  DataSource,
  Entity,
  EventSubscriber,
  type EntitySubscriberInterface,
  type InsertEvent,
} from 'typeorm';
import { SnowflakeId, hookDataSource } from 'nestjs-snowflake/typeorm';
import { startApplication } from './support/applications.js';
import { parcelEntities } from './support/special.entities.js';

const { Parcel } = parcelEntities('varchar');

@Entity()
class Note {
  @SnowflakeId({ type: 'varchar' })
  id: string;

  @Column()
  text: string;
}

const seen: unknown[] = [];

@EventSubscriber()
class Audit implements EntitySubscriberInterface<Note> {
  listenTo(): typeof Note {
    return Note;
  }

  beforeInsert({ entity }: InsertEvent<Note>): void {
    seen.push(entity.id);
  }
}

let application: TestingModule | undefined;
let dataSource: DataSource;

beforeAll(async () => {
  application = await startApplication({});
});
beforeEach(() => {
  dataSource = new DataSource({
    type: 'sqljs',
    entities: [Note, Parcel],
    subscribers: { Audit },
    synchronize: true,
  });
});
afterEach(() => dataSource.destroy());
afterAll(() => application?.close());

const insertPlain = async (): Promise<string> => {
  const row: { id?: string; text: string } = { text: 'plain' };
  await dataSource.getRepository(Note).insert(row);
  return row.id!;
};

it('without a hook, instances have ids and plain objects fail on the null key', async () => {
  await dataSource.initialize();
  const notes = dataSource.getRepository(Note);
  const { id } = await notes.save(notes.create({ text: 'an instance' }));
  expect(await notes.findOneByOrFail({ id })).toMatchObject({ text: 'an instance' });
  await expect(insertPlain()).rejects.toThrow('NOT NULL');
});

it('hooked before initialize(), it fills plain objects, after a second one too', async () => {
  await hookDataSource(dataSource).initialize();
  const first = await insertPlain();
  await dataSource.destroy();
  await dataSource.initialize();
  expect(BigInt(await insertPlain())).toBeGreaterThan(BigInt(first));
});

it('hooked after initialize(), it fills plain objects', async () => {
  hookDataSource(await dataSource.initialize());
  expect(await insertPlain()).toMatch(/^\d+$/);
});

it('hooked many times, it has the subscriber once', async () => {
  hookDataSource(hookDataSource(dataSource));
  hookDataSource(hookDataSource(await dataSource.initialize()));
  const names = dataSource.subscribers.map((subscriber) => subscriber.constructor.name);
  expect(names.toSorted()).toEqual(['Audit', 'SnowflakeSubscriber']);
});

it('keeps the subscriber of a second copy of this package, and adds none of its own', async () => {
  @EventSubscriber()
  class OfOtherCopy implements EntitySubscriberInterface<Note> {
    constructor() {
      Object.assign(this, { [Symbol.for('nestjs-snowflake:typeorm-subscriber')]: true });
    }
  }
  await dataSource.initialize();
  dataSource.subscribers.push(new OfOtherCopy());
  hookDataSource(dataSource);
  const names = dataSource.subscribers.map((subscriber) => subscriber.constructor.name);
  expect(names.toSorted()).toEqual(['Audit', 'OfOtherCopy']);
});

it('subscribers of the application find the id in place', async () => {
  hookDataSource(await dataSource.initialize());
  const id = await insertPlain();
  expect(seen).toContain(id);
});

it('an entity that holds a plain object as its embedded class is refused by TypeORM', async () => {
  await hookDataSource(dataSource).initialize();
  const parcels = dataSource.getRepository(Parcel);
  const parcel = Object.assign(new Parcel(), { label: { text: 'plain' } });
  await expect(parcels.save(parcel)).rejects.toThrow('is not a function');
  const created = await parcels.save(parcels.create({ label: { text: 'created' } }));
  expect(created.label.number).toMatch(/^\d+$/);
});

it('after the shutdown of the application no id is made, and no row is written', async () => {
  await hookDataSource(dataSource).initialize();
  await application?.close();
  application = undefined;
  await expect(insertPlain()).rejects.toMatchObject({ code: 'NOT_READY' });
  expect(await dataSource.getRepository(Note).count()).toBe(0);
});
