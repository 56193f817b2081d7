/** Every way in which IDs enter and leave an application, each with its own controller. */
import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Headers,
  Param,
  Post,
  UseInterceptors,
  UnauthorizedException,
} from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { GraphQLNonNull, GraphQLObjectType, GraphQLSchema, graphql } from 'graphql';
import { IdMaker } from 'nestjs-snowflake';
import { ApiKeys } from 'nestjs-snowflake/api-keys';
import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
import { IsSnowflakeId, IsSnowflakeIds } from 'nestjs-snowflake/class-validator';
import { SnowflakeID } from 'nestjs-snowflake/graphql';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { ParseSnowflakePipe, SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
import { registerOpenTelemetryMetrics, registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import { ApiSnowflakeParam, ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { snowflakeBigint, snowflakeId, snowflakeIds } from 'nestjs-snowflake/zod';
import * as client from 'prom-client';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { Invoice } from '../entries.js';

export class CreateCustomer {
  @ApiSnowflakeProperty()
  @IsSnowflakeId()
  referrerId: string;
}

class SeveralIds {
  @IsSnowflakeIds({ countMax: 2 })
  ids: string[];
}

class Customer {
  @ApiSnowflakeProperty({ readOnly: true })
  @SnowflakeText()
  readonly id: bigint;

  constructor(id: bigint) {
    this.id = id;
  }
}

/** Classes whose decorators validate, document and serialize them. */
@Controller('customers')
@UseInterceptors(ClassSerializerInterceptor)
export class CustomersController {
  @Post()
  create(@Body() customer: CreateCustomer): CreateCustomer {
    return customer;
  }

  @Post('several')
  several(@Body() several: SeveralIds): SeveralIds {
    return several;
  }

  @Get(':id')
  @ApiSnowflakeParam('id')
  one(@Param('id', ParseSnowflakePipe) id: bigint): Customer {
    return new Customer(id);
  }
}

/** A database in memory, as a provider of the application. */
export const invoiceDatabase = {
  provide: DataSource,
  useFactory: (): Promise<DataSource> =>
    new DataSource({ type: 'sqljs', entities: [Invoice], synchronize: true }).initialize(),
};

/** IDs of rows that TypeORM saves. */
@Controller('invoices')
export class InvoicesController {
  constructor(private readonly database: DataSource) {}

  @Post()
  async create(): Promise<Invoice | null> {
    const { id } = await this.database.getRepository(Invoice).save(new Invoice());
    return this.database.getRepository(Invoice).findOneBy({ id });
  }
}

/** Global interceptors do not apply to a gateway, so it has its own. */
@WebSocketGateway({ path: '/orders/live' })
@UseInterceptors(SnowflakeJsonInterceptor)
export class OrdersGateway {
  @SubscribeMessage('latest')
  latest(): object {
    return { event: 'latest', data: { id: 382366441078288384n, lines: [382366441078288385n] } };
  }
}

/** API keys that any caller may create, and a route that requires one. */
@Controller('partner')
export class PartnersController {
  private readonly keys = new ApiKeys({ prefix: 'edge' });
  private readonly hashes = new Map<string, string>();

  constructor(private readonly ids: IdMaker) {}

  @Post('keys')
  issue(): { key: string; keyId: string } {
    const { key, keyId, hash } = this.keys.issue(this.ids.nextId());
    this.hashes.set(keyId, hash);
    return { key, keyId };
  }

  @Get('me')
  me(@Headers('authorization') authorization = ''): { keyId: string } {
    const key = authorization.replace('Bearer ', '');
    const keyId = this.keys.parse(key)?.keyId ?? '';
    if (this.keys.verify(key, this.hashes.get(keyId))) return { keyId };
    throw new UnauthorizedException();
  }
}

const CreateRefund = z.object({
  customerId: snowflakeId(),
  after: snowflakeBigint(),
  couponIds: snowflakeIds(),
});

const args = { after: { type: new GraphQLNonNull(SnowflakeID) } };
const resolve = (_root: unknown, { after }: { after: string }): bigint => BigInt(after) + 1n;
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: { next: { type: SnowflakeID, args, resolve } },
  }),
});

/** IDs that a Zod schema or a GraphQL schema parses and serializes. */
@Controller()
export class SchemasController {
  @Post('refunds')
  refund(@Body() body: unknown): object {
    const { data, error } = CreateRefund.safeParse(body);
    if (error) return { issues: error.issues.map(({ path, message }) => ({ path, message })) };
    return { customerId: data.customerId, next: String(data.after + 1n) };
  }

  @Get('refunds/schema')
  schema(): object {
    return z.toJSONSchema(CreateRefund, { io: 'input' });
  }

  @Post('graphql')
  async query(@Body() { after }: { after: unknown }): Promise<object> {
    const source = 'query($after: SnowflakeID!) { next(after: $after) }';
    const { data, errors } = await graphql({ schema, source, variableValues: { after } });
    return { data, errors };
  }
}

class ReaderInMemory extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** Health and metrics: whether the process can generate IDs, and how many it has generated. */
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
