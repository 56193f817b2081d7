import { Global, Injectable, Module } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { IdMaker } from 'nestjs-snowflake';

/** Makes ids in the first hook of the application and in the last. */
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
export class AuditModule {}
