/**
 * Two questions of an orchestrator. Alive: is a new process needed? Ready: may requests come?
 * Only the second one asks what the shop depends on. A process started again would not bring Redis
 * or the database back, and would have no lease to go on with.
 */
import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheck, HealthCheckService, TypeOrmHealthIndicator } from '@nestjs/terminus';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';

const ALIVE = { status: 'ok' };

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly ids: SnowflakeHealthIndicator,
    private readonly database: TypeOrmHealthIndicator,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Alive: the process answers' })
  @ApiOkResponse({ schema: { type: 'object', example: ALIVE } })
  alive(): object {
    return ALIVE;
  }

  @Get('ready')
  @ApiOperation({ summary: 'Ready: ids can be made, and the database answers' })
  @HealthCheck()
  ready() {
    return this.health.check([
      () => this.ids.isHealthy('ids'),
      () => this.ids.isHealthy('invoice ids', { generator: 'invoices' }),
      () => this.database.pingCheck('database'),
    ]);
  }
}
