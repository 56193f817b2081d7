import { Module, ValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SnowflakeModule } from 'nestjs-snowflake';
import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { SnowflakeErrorFilter, SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
import { LockModule } from 'nestjs-snowflake/lock';
import { sqlLocks } from 'nestjs-snowflake/sql';
import { DataSource } from 'typeorm';
import { config } from './config.js';
import { databaseOptions } from './database.js';
import { Order, SalesReport } from './entities.js';
import { OperationsController } from './operations.controller.js';
import { OperatorGuard } from './operator.guard.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { SalesReportJob, SalesReportsController } from './sales-reports.js';

@Module({
  imports: [
    ScheduleModule.forRoot(), // renews the lease of the worker ID
    SnowflakeModule.forRoot({ support: config.support, application: 'shop' }),
    TypeOrmModule.forRootAsync({ useFactory: databaseOptions }),
    TypeOrmModule.forFeature([Order, SalesReport]),
    LockModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({
        // With a standby, leave `replicated` out.
        locks: sqlLocks({ dataSource, namespace: 'shop', replicated: false }),
        ttlMs: 5000, // how long the lock of a killed process stays
      }),
    }),
    SnowflakeDashboardModule.forRoot({ guards: [OperatorGuard] }),
    TerminusModule,
  ],
  controllers: [OrdersController, SalesReportsController, OperationsController],
  providers: [
    OrdersService,
    SalesReportJob,
    SnowflakeHealthIndicator,
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true }),
    },
    { provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor },
    { provide: APP_FILTER, useClass: SnowflakeErrorFilter },
  ],
})
export class AppModule {}
