/**
 * The shop: ids from nestjs-snowflake, rows in PostgreSQL.
 */
import { Module, ValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
import { SnowflakeErrorFilter, SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
import { readConfig } from './config.js';
import { CustomersModule } from './customers/customers.module.js';
import { DatabaseModule } from './database/database.module.js';
import { HealthModule } from './health/health.module.js';
import { HomeController } from './home.controller.js';
import { IdsController } from './ids/ids.controller.js';
import { layout } from './ids/shop-ids.js';
import { InvoicesModule } from './invoices/invoices.module.js';
import { ShopLocksModule } from './locks/shop-locks.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OperatorGuard } from './operator/operator.guard.js';
import { OperatorModule } from './operator/operator.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { PartnersModule } from './partners/partners.module.js';
import { SalesModule } from './sales/sales.module.js';

const strictly = { whitelist: true, forbidNonWhitelisted: true, transform: true };

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRootAsync({
      useFactory: () => ({ support: readConfig().support, layout, application: 'shop' }),
    }),
    SnowflakeDashboardModule.forRoot({
      path: 'snowflake',
      guards: [OperatorGuard],
      imports: [OperatorModule],
    }),
    DatabaseModule,
    ShopLocksModule,
    CustomersModule,
    OrdersModule,
    InvoicesModule,
    PartnersModule,
    SalesModule,
    HealthModule,
    MetricsModule,
  ],
  controllers: [HomeController, IdsController],
  providers: [
    { provide: APP_PIPE, useValue: new ValidationPipe(strictly) },
    { provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor },
    { provide: APP_FILTER, useClass: SnowflakeErrorFilter },
  ],
})
export class AppModule {}
