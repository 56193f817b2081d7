/**
 * Starts a Nest application that uses the library as its documentation says: SnowflakeModule
 * imported, nothing else.
 */
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import type { ModuleMetadata } from '@nestjs/common';
import type { DataSource, EntityTarget } from 'typeorm';
import { SnowflakeModule } from 'nestjs-snowflake';
import type { Driver } from './drivers.js';

export const WORKER_ID = 7;

export async function startApplication(metadata: ModuleMetadata): Promise<TestingModule> {
  const imports = [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({ workerId: WORKER_ID }),
    ...(metadata.imports ?? []),
  ];
  const application = await Test.createTestingModule({ ...metadata, imports }).compile();
  return application.init();
}

export interface Running {
  readonly dataSource: DataSource;
  stop(): Promise<void>;
}

/** An application with one database, made for this call. */
export async function startWithDatabase(
  driver: Driver,
  entities: readonly EntityTarget<object>[],
): Promise<Running> {
  const { options, close } = await driver.open();
  const typeorm = { ...options, entities: [...entities], synchronize: true, retryAttempts: 0 };
  const application = await startApplication({
    imports: [TypeOrmModule.forRoot(typeorm as Parameters<typeof TypeOrmModule.forRoot>[0])],
  });
  return {
    dataSource: application.get<DataSource>(getDataSourceToken()),
    stop: async () => {
      await application.close();
      await close();
    },
  };
}
