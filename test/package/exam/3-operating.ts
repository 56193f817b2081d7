/**
 * Tasks 17 to 20 of the exam: doors for operators, layouts and regions, and what to do at night.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Controller, Get, Header, Inject, Injectable, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import {
  BitLayout,
  IDistributedSupport,
  IdMaker,
  SnowflakeModule,
  startSnowflake,
} from 'nestjs-snowflake';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import * as client from 'prom-client';

Logger.overrideLogger(false);
const redisOf = (namespace: string): string => `${process.env['REDIS_URL']}?namespace=${namespace}`;

/** The output of the command, whether it found a fault or not. */
async function snowflake(...args: readonly string[]): Promise<string> {
  const command = promisify(execFile)(process.execPath, ['node_modules/.bin/snowflake', ...args]);
  const { stdout } = await command.catch((error: { stdout: string; code: number }) => {
    assert.equal(error.code, 1);
    return error;
  });
  return stdout;
}

// Task 17. GET /health/ready for Kubernetes, and GET /metrics for Prometheus, with how many worker
// ids are in use.

@Controller()
class Doors {
  constructor(
    private readonly health: HealthCheckService,
    private readonly ids: SnowflakeHealthIndicator,
  ) {}

  @Get('health/ready')
  @HealthCheck()
  ready() {
    return this.health.check([() => this.ids.isHealthy('ids')]);
  }

  @Get('metrics')
  @Header('content-type', client.register.contentType)
  metrics(): Promise<string> {
    return client.register.metrics();
  }
}

@Injectable()
class Metrics {
  constructor(ids: IdMaker, @Inject(IDistributedSupport) support: IDistributedSupport) {
    registerPrometheusMetrics(client, [{ ids, support }]);
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    TerminusModule,
    SnowflakeModule.forRoot({ support: redisOf(randomUUID()) }),
  ],
  providers: [SnowflakeHealthIndicator, Metrics],
  controllers: [Doors],
})
class DoorsModule {}

void test('17. health and metrics', async () => {
  const app = await NestFactory.create(DoorsModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  app.get(IdMaker).nextIds(3);
  const ready = await fetch(`${await app.getUrl()}/health/ready`);
  const { details } = (await ready.json()) as { details: { ids: { status: string } } };
  assert.deepEqual([ready.status, details.ids.status], [200, 'up']);
  const metrics = await (await fetch(`${await app.getUrl()}/metrics`)).text();
  assert.match(metrics, /^snowflake_ids_issued_total\{generator="default",.*\} 3$/m);
  assert.match(metrics, /^snowflake_workers_in_use\{generator="default",.*\} 1$/m);
  await app.close();
});

// Task 18. Gateways in the field make ids without any store. Each has a number from 0 to 9999, told
// to it as GATEWAY; ids have to last for a hundred years, and 1000 per second are enough.

const layout = new BitLayout({
  epoch: '2024-01-01T00:00:00Z',
  unitMs: 10,
  fields: [
    ['timestamp', 39],
    ['gateway', 14],
    ['sequence', 10],
  ],
});

/** Without a number of its own a gateway must not start. */
function gateway(): number {
  const number = process.env['GATEWAY'];
  if (number === undefined || !/^\d{1,4}$/.test(number)) throw new Error('GATEWAY: 0 to 9999');
  return Number(number);
}

void test('18. another layout, and numbers of our own', async () => {
  assert.ok(layout.lastDate > new Date('2124-01-01'));
  assert.ok(layout.workerIdMax >= 9999 && layout.idsPerSecond >= 1000);
  delete process.env['GATEWAY'];
  await assert.rejects(async () => startSnowflake({ layout, workerId: gateway() }), /GATEWAY/);
  process.env['GATEWAY'] = '9999';
  await using running = await startSnowflake({ layout, workerId: gateway() });
  const ids = running.ids.nextIds(100);
  assert.equal(new Set(ids).size, 100);
  assert.equal(layout.parse(ids[0]!).fields['gateway'], 9999);
});

// Task 19. Two regions, each with a Redis of its own, write to one table. Neither may wait for the
// other, and a number that was given to both by mistake has to be noticed.

const regional = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 3],
    ['worker', 7],
    ['sequence', 12],
  ],
});

const inRegion = (region: number, support: string, regions: string) =>
  startSnowflake({ support, layout: regional, workerFields: { region }, regions });

void test('19. two regions', async () => {
  const regions = redisOf(randomUUID());
  await using europe = await inRegion(0, redisOf(randomUUID()), regions);
  await using asia = await inRegion(1, redisOf(randomUUID()), regions);
  const made = [europe, asia].map(({ ids }) => regional.parse(ids.nextId()));
  assert.deepEqual(
    made.map(({ fields }) => fields['region']),
    [0, 1],
  );
  const listed = await snowflake('regions', '--regions', regions);
  assert.match(listed, /^2 is the lowest of the 8 numbers that was never used/m);
});

// Task 20. At night: the database refuses a row, since its id is there already. A variable names
// the Redis of each process. Which process made the id, and where does the other one come from?

/** With two worker ids, so that two strayed processes have that of the first one too. */
const narrow = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['worker', 1],
    ['sequence', 12],
  ],
});
const fields = ['--fields', 'timestamp:41,worker:1,sequence:12'];

void test('20. two equal ids', async () => {
  const [one, other] = [redisOf(randomUUID()), redisOf(randomUUID())] as const;
  const strayedTo = { support: other, layout: narrow, application: 'strayed' };
  await using shop = await startSnowflake({ support: one, layout: narrow, application: 'shop' });
  await using _ = await startSnowflake(strayedTo);
  await using __ = await startSnowflake(strayedTo);
  const { workerId } = shop.ids.status;
  const id = shop.ids.nextIdString();

  assert.match(await snowflake('explain', 'An id was made twice'), /decode --who[^]*doctor/);
  const decoded = await snowflake('decode', '--who', ...fields, id, '--support', one);
  assert.match(decoded, new RegExp(`Worker id ${workerId} .* to shop`));
  const compared = await snowflake('doctor', '--support', one, '--against', other);
  assert.match(compared, new RegExp(`^fault .*\\bWorker ids ${workerId} are held in both`, 'm'));
  const holders = await snowflake('workers', '--support', other);
  assert.match(holders, new RegExp(`^ +${workerId} .* strayed `, 'm'));
});
