import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { Orders } from './orders';

@Module({
  imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: 7 })],
  providers: [Orders],
})
export class AppModule {}
