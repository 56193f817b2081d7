import { Controller, Get, Post } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { IdMaker } from 'nestjs-snowflake';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { registerOpenTelemetryMetrics, registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import * as client from 'prom-client';

class ReaderInMemory extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** What an operator asks: whether ids can be made, and how many were. */
@Controller()
export class WatchController {
  private readonly reader = new ReaderInMemory();

  constructor(
    private readonly health: HealthCheckService,
    private readonly snowflake: SnowflakeHealthIndicator,
    private readonly ids: IdMaker,
  ) {
    registerPrometheusMetrics(client, [{ ids }]);
    const provider = new MeterProvider({ readers: [this.reader] });
    registerOpenTelemetryMetrics(provider.getMeter('edge'), [{ ids }]);
  }

  @Get('health')
  @HealthCheck()
  ready() {
    return this.health.check([() => this.snowflake.isHealthy('ids')]);
  }

  @Post('issue')
  issue(): object {
    this.ids.nextId();
    return { ids: this.ids.status.issuedCount };
  }

  @Get('metrics')
  prometheus(): Promise<string> {
    return client.register.metrics();
  }

  @Get('otel')
  async openTelemetry(): Promise<object> {
    const { resourceMetrics, errors } = await this.reader.collect();
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    const issued = metrics.find(({ descriptor }) => descriptor.name === 'snowflake.ids.issued');
    return { errors, points: issued?.dataPoints.map(({ value }) => value) };
  }
}
