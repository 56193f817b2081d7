/**
 * A Nest application with several DataSources and generators, which imports SnowflakeModule and
 * nothing else of ours.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { ScheduleModule } from '@nestjs/schedule';
import { InjectDataSource, TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import { Column, DataSource, Entity } from 'typeorm';
import { SnowflakeModule, layouts } from 'nestjs-snowflake';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { postgres, type OpenDatabase } from './support/databases.js';

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

/** Seed data is often written there; plain objects need the subscriber by then. */
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
  ])('seeds written in onModuleInit of a module imported %s have ids', async (_, name, seeder) => {
    const [country] = await dataSourceOf(name).getRepository(Country).findBy({ name: seeder.name });
    expect(workerOf(country!.id)).toBe(WORKER_ID);
  });

  it('each column is filled by the generator it names', async () => {
    await dataSourceOf().getRepository(Ticket).insert({});
    const saved = await dataSourceOf().getRepository(Ticket).save(new Ticket());
    const tickets = await dataSourceOf().getRepository(Ticket).find();
    expect(tickets).toContainEqual(saved);
    expect(tickets.map(({ id }) => workerOf(id))).toEqual([ORDERS_WORKER_ID, ORDERS_WORKER_ID]);
    expect(tickets.map(({ reference }) => workerOf(reference))).toEqual([WORKER_ID, WORKER_ID]);
  });

  it('a generator that does not exist is an error with its name, and no row', async () => {
    const strays = dataSourceOf().getRepository(Stray);
    for (const stray of [{}, new Stray()]) {
      await expect(strays.save(stray)).rejects.toMatchObject({
        code: 'NOT_READY',
        message: expect.stringContaining('unheard-of'),
      });
    }
    expect(await strays.count()).toBe(0);
  });

  it('rows saved side by side in both databases all have ids of their own', async () => {
    const repositories = [undefined, 'reports'].map((name) =>
      dataSourceOf(name).getRepository(Country),
    );
    const rows = Array.from({ length: 500 }, (_, row) =>
      repositories[row % 2]!.save({ name: `row ${row}` }),
    );
    expect(new Set((await Promise.all(rows)).map(({ id }) => id)).size).toBe(500);
  });

  it('a DataSource that the application initializes itself is hooked too', async () => {
    const byHand = await dataSourceOf('by-hand').initialize();
    const row: { id?: string; name: string } = { name: 'by hand' };
    await byHand.getRepository(Country).insert(row);
    expect(workerOf(row.id!)).toBe(WORKER_ID);
    await byHand.destroy();
  });
});
