/**
 * For an orchestrator and for Prometheus.
 */
import { Controller, Get, Header, Inject } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TypeOrmHealthIndicator } from '@nestjs/terminus';
import { IDistributedSupport, IdMaker } from 'nestjs-snowflake';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { DistributedLock } from 'nestjs-snowflake/lock';
import { registerPrometheusLockMetrics, registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import * as client from 'prom-client';

@Controller()
export class OperationsController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly snowflake: SnowflakeHealthIndicator,
    private readonly database: TypeOrmHealthIndicator,
    ids: IdMaker,
    @Inject(IDistributedSupport) support: IDistributedSupport,
    locks: DistributedLock,
  ) {
    client.collectDefaultMetrics();
    registerPrometheusMetrics(client, [{ ids, support }]);
    registerPrometheusLockMetrics(client, [{ locks }]);
  }

  /** Liveness: a new process would bring back neither Redis nor the database. */
  @Get('health')
  alive(): object {
    return { status: 'ok' };
  }

  @Get('health/ready')
  @HealthCheck()
  ready() {
    return this.health.check([
      () => this.snowflake.isHealthy('ids'),
      () => this.database.pingCheck('database'),
    ]);
  }

  @Get('metrics')
  @Header('content-type', client.prometheusContentType)
  metrics(): Promise<string> {
    return client.register.metrics();
  }
}
