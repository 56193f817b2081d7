import { Global, Injectable, Module } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';

/** Generates IDs in the first and in the last hook of the application. */
@Injectable()
export class Audit implements OnModuleInit, OnApplicationShutdown {
  readonly made: string[] = [];

  constructor(private readonly idMaker: IdMaker) {}

  onModuleInit(): void {
    this.made.push(this.idMaker.nextIdString());
  }

  async onApplicationShutdown(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.made.push(this.idMaker.nextIdString());
  }
}

@Global()
@Module({ providers: [Audit] })
class AuditModule {}

/** Gets the IdMaker by the type of a constructor parameter, as an application does. */
@Injectable()
export class Orders {
  constructor(readonly idMaker: IdMaker) {}

  location(): bigint {
    return this.idMaker.nextId();
  }
}

const support = process.env['SNOWFLAKE_SUPPORT'] ?? 'static:7';

@Module({
  imports: [AuditModule, ScheduleModule.forRoot(), SnowflakeModule.forRoot({ support })],
  providers: [Orders],
})
export class AppModule {}
