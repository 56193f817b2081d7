/**
 * DataSources outside of Nest, and a Nest application with several DataSources and generators. The
 * application imports only SnowflakeModule from this library.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { InjectDataSource, TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import { SnowflakeModule, layouts } from 'nestjs-snowflake';
import { hookDataSource, SnowflakeId } from 'nestjs-snowflake/typeorm';
import {
  Column,
  DataSource,
  type DataSourceOptions,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
} from 'typeorm';
import { registryTable } from '../../../lib/stores/sql/index.js';
import { command } from '../../cli/run-command.js';
import { ownDatabase } from '../../own-database.js';
import {
  startApplication,
  type Driver,
  mariadb,
  type OpenDatabase,
  postgres,
  sqljs,
  parcelEntities,
} from './support/databases.js';

describe('hookDataSource()', () => {
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

  it('without a hook, instances get IDs and plain objects fail on the null key', async () => {
    await dataSource.initialize();
    const notes = dataSource.getRepository(Note);
    const { id } = await notes.save(notes.create({ text: 'an instance' }));
    expect(await notes.findOneByOrFail({ id })).toMatchObject({ text: 'an instance' });
    await expect(insertPlain()).rejects.toThrow('NOT NULL');
  });

  it('hooked before initialize(), it fills plain objects, even after reconnecting', async () => {
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

  it('hooked many times, it has only one subscriber', async () => {
    hookDataSource(hookDataSource(dataSource));
    hookDataSource(hookDataSource(await dataSource.initialize()));
    const names = dataSource.subscribers.map((subscriber) => subscriber.constructor.name);
    expect(names.toSorted()).toEqual(['Audit', 'SnowflakeSubscriber']);
  });

  it('keeps the subscriber of a second copy of this package, without adding its own', async () => {
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

  it('subscribers of the application see the filled ID', async () => {
    hookDataSource(await dataSource.initialize());
    const id = await insertPlain();
    expect(seen).toContain(id);
  });

  it('TypeORM refuses an entity with a plain object as its embedded class', async () => {
    await hookDataSource(dataSource).initialize();
    const parcels = dataSource.getRepository(Parcel);
    const parcel = Object.assign(new Parcel(), { label: { text: 'plain' } });
    await expect(parcels.save(parcel)).rejects.toThrow('is not a function');
    const created = await parcels.save(parcels.create({ label: { text: 'created' } }));
    expect(created.label.number).toMatch(/^\d+$/);
  });

  it('after the shutdown of the application, an insert fails and writes no row', async () => {
    await hookDataSource(dataSource).initialize();
    await application?.close();
    application = undefined;
    await expect(insertPlain()).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(await dataSource.getRepository(Note).count()).toBe(0);
  });
});

/*
 * The guide warns of this: dropSchema also drops the table of the registry. Any later command that
 * leases there names the command that creates it.
 */
it('after dropSchema, the error names the command that recreates the registry table', async () => {
  const { url, drop } = await ownDatabase(process.env['DATABASE_URL']!);
  const workers = () => command(['workers', '--support', `${url}?namespace=shop&replicated=false`]);
  const before = new DataSource({ type: 'postgres', url });
  await before.initialize();
  await before.query(registryTable('postgres'));
  await before.destroy();
  expect((await workers()).err).not.toContain('registry create');
  const dropping = new DataSource({ type: 'postgres', url, dropSchema: true });
  await dropping.initialize();
  await dropping.destroy();
  const { code, err } = await workers();
  expect([code, err]).toEqual([1, expect.stringContaining('snowflake registry create')]);
  await drop();
});

// The hook in a Nest application.

const WORKER_ID = 7;
const ORDERS_WORKER_ID = 9;

@Entity()
class Country {
  @SnowflakeId({ type: 'varchar' })
  id: string;

  @Column()
  name: string;
}

@Entity()
class Ticket {
  @SnowflakeId({ generator: 'orders' })
  id: string;

  @SnowflakeId({ primary: false })
  reference: string;
}

@Entity()
class Stray {
  @SnowflakeId({ generator: 'unheard-of' })
  id: string;
}

/** Seeds are often written in this hook. Plain objects need the subscriber by then. */
abstract class Seeder implements OnModuleInit {
  constructor(readonly dataSource: DataSource) {}

  async onModuleInit(): Promise<void> {
    await this.dataSource.getRepository(Country).insert({ name: this.constructor.name });
  }
}

@Injectable()
class EarlySeeder extends Seeder {
  constructor(@InjectDataSource() dataSource: DataSource) {
    super(dataSource);
  }
}

@Injectable()
class LateSeeder extends Seeder {
  constructor(@InjectDataSource('reports') dataSource: DataSource) {
    super(dataSource);
  }
}

@Module({ providers: [EarlySeeder] })
class EarlyModule {}

@Module({ providers: [LateSeeder] })
class LateModule {}

const workerOf = (id: string): number | undefined => layouts.snowflake().parse(id).workerId;

describe('an application with two generators and three DataSources', () => {
  let database: OpenDatabase;
  let application: TestingModule;
  const dataSourceOf = (name?: string) => application.get<DataSource>(getDataSourceToken(name));

  beforeAll(async () => {
    database = await postgres.open();
    const entities = [Country, Ticket, Stray];
    const sqljs = { type: 'sqljs' as const, synchronize: true, entities: [Country] };
    const imports = [
      EarlyModule,
      TypeOrmModule.forRoot({ ...database.options, entities, synchronize: true }),
      TypeOrmModule.forRoot({ ...sqljs, name: 'reports' }),
      TypeOrmModule.forRoot({ ...sqljs, name: 'by-hand', manualInitialization: true }),
      ScheduleModule.forRoot(),
      SnowflakeModule.forRoot({ workerId: WORKER_ID }),
      SnowflakeModule.forRoot({ name: 'orders', workerId: ORDERS_WORKER_ID }),
      LateModule,
    ];
    application = await Test.createTestingModule({ imports }).compile();
    await application.init();
  });
  afterAll(async () => {
    await application?.close();
    await database?.close();
  });

  it.each([
    ['before SnowflakeModule', undefined, EarlySeeder],
    ['after SnowflakeModule', 'reports', LateSeeder],
  ])('fills seeds from onModuleInit of a module imported %s', async (_, name, seeder) => {
    const [country] = await dataSourceOf(name).getRepository(Country).findBy({ name: seeder.name });
    expect(workerOf(country!.id)).toBe(WORKER_ID);
  });

  it('fills each column with the generator that the column names', async () => {
    await dataSourceOf().getRepository(Ticket).insert({});
    const saved = await dataSourceOf().getRepository(Ticket).save(new Ticket());
    const tickets = await dataSourceOf().getRepository(Ticket).find();
    expect(tickets).toContainEqual(saved);
    expect(tickets.map(({ id }) => workerOf(id))).toEqual([ORDERS_WORKER_ID, ORDERS_WORKER_ID]);
    expect(tickets.map(({ reference }) => workerOf(reference))).toEqual([WORKER_ID, WORKER_ID]);
  });

  it('refuses an unknown generator by name, and writes no row', async () => {
    const strays = dataSourceOf().getRepository(Stray);
    for (const stray of [{}, new Stray()]) {
      await expect(strays.save(stray)).rejects.toMatchObject({
        code: 'NOT_READY',
        message: expect.stringContaining('unheard-of'),
      });
    }
    expect(await strays.count()).toBe(0);
  });

  it('gives unique IDs to rows saved concurrently in both databases', async () => {
    const repositories = [undefined, 'reports'].map((name) =>
      dataSourceOf(name).getRepository(Country),
    );
    const rows = Array.from({ length: 500 }, (_, row) =>
      repositories[row % 2]!.save({ name: `row ${row}` }),
    );
    expect(new Set((await Promise.all(rows)).map(({ id }) => id)).size).toBe(500);
  });

  it('hooks a DataSource that the application initializes itself', async () => {
    const byHand = await dataSourceOf('by-hand').initialize();
    const row: { id?: string; name: string } = { name: 'by hand' };
    await byHand.getRepository(Country).insert(row);
    expect(workerOf(row.id!)).toBe(WORKER_ID);
    await byHand.destroy();
  });
});

/*
 * Drivers that turn a bigint column into a number: an ID is stored exactly, and refused on read.
 * Last in this file, because pg keeps `parseInt8` for the whole process.
 */
describe('lossy drivers', () => {
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
    it('stores the ID exactly, refuses to read it, and writes no second row', async () => {
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

    it('reads small IDs, which are exact', async () => {
      await open(driver, settings);
      const notes = dataSource.getRepository(Note);
      await notes.save({ id: '42', text: 'small' });
      await notes.save({ id: '42', text: 'changed' });
      expect(await notes.find()).toEqual([{ id: '42', text: 'changed' }]);
    });
  });

  it('returns exact strings and numbers from MariaDB with bigNumberStrings: false', async () => {
    await open(mariadb, { supportBigNumbers: true, bigNumberStrings: false });
    const notes = dataSource.getRepository(Note);
    const { id } = await notes.save({ text: 'b' });
    await notes.save({ id: '42', text: 'a' });
    expect(await notes.find({ order: { text: 'ASC' } })).toEqual([
      { id: '42', text: 'a' },
      { id, text: 'b' },
    ]);
  });
});
