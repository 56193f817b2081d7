/**
 * The connection: the PostgreSQL of DATABASE_URL, or the embedded one.
 */
import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { registryTable, seriesTable } from 'nestjs-snowflake/sql';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { readConfig } from '../config.js';
import { Customer } from '../customers/customer.entity.js';
import { Invoice } from '../invoices/invoice.entity.js';
import { OrderLine } from '../orders/order-line.entity.js';
import { Order } from '../orders/order.entity.js';
import { PartnerKey } from '../partners/partner-key.entity.js';
import { SalesReport } from '../sales/sales-report.entity.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';

/** Any number, as long as nothing else in the database uses it for an advisory lock. */
const SCHEMA_LOCK = 20_240_101;

let embedded: EmbeddedPostgres | undefined;

async function connectionOptions(): Promise<DataSourceOptions> {
  const { databaseUrl, dataDir } = readConfig();
  embedded = databaseUrl === undefined ? await startEmbeddedPostgres(dataDir) : undefined;
  return {
    type: 'postgres',
    url: databaseUrl ?? embedded!.url,
    entities: [Customer, Invoice, Order, OrderLine, PartnerKey, SalesReport],
    // With three busy connections or more the embedded server mixes up their rows; one is as fast.
    poolSize: embedded === undefined ? 10 : 1,
  };
}

async function connect(options?: DataSourceOptions): Promise<DataSource> {
  const dataSource = await new DataSource(options!).initialize();
  await (embedded === undefined ? makeSchemaInTurn(dataSource) : makeSchema(dataSource));
  return dataSource;
}

/** Real code uses migrations. */
async function makeSchema(dataSource: DataSource): Promise<void> {
  await dataSource.synchronize();
  const tables = [registryTable, seriesTable];
  for (const sql of tables.map((table) => table('postgres'))) {
    await dataSource.query(sql);
  }
}

/** Replicas that start together create the schema one by one. */
async function makeSchemaInTurn(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  await runner.query('SELECT pg_advisory_lock($1)', [SCHEMA_LOCK]);
  try {
    await makeSchema(dataSource);
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [SCHEMA_LOCK]);
    await runner.release();
  }
}

@Module({
  imports: [
    TypeOrmModule.forRootAsync({ useFactory: connectionOptions, dataSourceFactory: connect }),
  ],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly moduleRef: ModuleRef) {}

  /** The embedded server stops after its last connection is closed. */
  async onApplicationShutdown(): Promise<void> {
    if (embedded === undefined) return;
    const dataSource = this.moduleRef.get(DataSource, { strict: false });
    if (dataSource.isInitialized) await dataSource.destroy();
    await embedded.stop();
  }
}
