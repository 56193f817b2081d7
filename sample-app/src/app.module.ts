/**
 * The shop: ids from nestjs-snowflake, rows in PostgreSQL.
 */
import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { readConfig } from './config.js';
import { CustomersModule } from './customers/customers.module.js';
import { DatabaseModule } from './database/database.module.js';
import { HomeController } from './home.controller.js';
import { IdsController } from './ids/ids.controller.js';
import { OrdersModule } from './orders/orders.module.js';

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRootAsync({
      useFactory: () => ({ support: readConfig().support, application: 'shop' }),
    }),
    DatabaseModule,
    CustomersModule,
    OrdersModule,
  ],
  controllers: [HomeController, IdsController],
})
export class AppModule {}
