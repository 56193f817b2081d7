import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { AppModule } from '../app.module.js';
import { CustomersController } from './customers.controller.js';
import { InvoicesController, invoiceDatabase } from './invoices.controller.js';
import { OrdersController } from './orders.controller.js';
import { SchemasController } from './schemas.controller.js';
import { WatchController } from './watch.controller.js';

@Module({
  imports: [AppModule, TerminusModule],
  providers: [SnowflakeHealthIndicator, invoiceDatabase],
  controllers: [
    OrdersController,
    CustomersController,
    SchemasController,
    InvoicesController,
    WatchController,
  ],
})
export class EdgeModule {}
