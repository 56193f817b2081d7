/**
 * Invoices, and the generator of their ids: dense numbers of a counter in the database.
 */
import { Module } from '@nestjs/common';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { sqlCounters } from 'nestjs-snowflake/sql';
import { DataSource } from 'typeorm';
import { OrdersModule } from '../orders/orders.module.js';
import { InvoicesController } from './invoices.controller.js';
import { InvoicesService } from './invoices.service.js';

const InvoiceIds = SegmentsModule.forRootAsync({
  name: 'invoices',
  inject: [DataSource],
  useFactory: (dataSource: DataSource) => ({
    // The shop has one database server. With a standby leave `replicated` out, and let `startAt`
    // be a function that reads the highest id.
    store: sqlCounters({ dataSource, namespace: 'shop', replicated: false }),
    counter: 'invoice',
    startAt: 1n,
    // What is buffered at the end of a process is a gap.
    stepMin: 100,
    stepMax: 10_000,
  }),
});

@Module({
  imports: [InvoiceIds, OrdersModule],
  controllers: [InvoicesController],
  providers: [InvoicesService],
})
export class InvoicesModule {}
