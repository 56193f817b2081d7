import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { AuditModule } from './audit.js';
import { Orders } from './orders.js';

const support = process.env['SNOWFLAKE_SUPPORT'] ?? 'static:7';

@Module({
  imports: [AuditModule, ScheduleModule.forRoot(), SnowflakeModule.forRoot({ support })],
  providers: [Orders],
})
export class AppModule {}
