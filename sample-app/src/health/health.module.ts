import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { HealthController } from './health.controller.js';

@Module({
  imports: [TerminusModule],
  controllers: [HealthController],
  providers: [SnowflakeHealthIndicator],
})
export class HealthModule {}
