/**
 * Applications that serve the dashboard on either platform, with a registry shared with other
 * holders, and with a clock that the test can advance.
 */
import type { CanActivate, INestApplication, ModuleMetadata } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ScheduleModule } from '@nestjs/schedule';
import {
  MemorySupport,
  SnowflakeModule,
  layouts,
  type IDistributedSupport,
  type LeaseAnswer,
  type LeaseGrant,
  type LeaseRequest,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import {
  SnowflakeDashboardModule,
  type SnowflakeDashboardOptions,
} from 'nestjs-snowflake/dashboard';

/** Admits every request; other tests cover guards. */
export const anybody: CanActivate = { canActivate: () => true };

export interface ShownAppOptions {
  readonly platform?: 'express' | 'fastify';
  readonly snowflake?: SnowflakeModuleOptions;
  readonly dashboard?: SnowflakeDashboardOptions;
  readonly more?: ModuleMetadata;
  readonly prepare?: (app: INestApplication) => void;
}

export interface ShownApp {
  readonly app: INestApplication;
  readonly url: string;
}

export async function showApp(options: ShownAppOptions = {}): Promise<ShownApp> {
  const { platform = 'express', dashboard = { guards: [anybody] }, more = {} } = options;
  const snowflake = { support: new MemorySupport() };
  @Module({
    ...more,
    imports: [
      ScheduleModule.forRoot(),
      SnowflakeModule.forRoot({ application: 'shop', ...(options.snowflake ?? snowflake) }),
      SnowflakeDashboardModule.forRoot(dashboard),
      ...(more.imports ?? []),
    ],
  })
  class App {}
  // A browser opens spare connections, which would delay the shutdown of an application.
  const forceCloseConnections = true;
  const quiet = { logger: false, abortOnError: false, forceCloseConnections } as const;
  const app: INestApplication =
    platform === 'express'
      ? await NestFactory.create(App, quiet)
      : await NestFactory.create(App, new FastifyAdapter({ forceCloseConnections }), quiet);
  options.prepare?.(app);
  try {
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }
  return { app, url: await app.getUrl() };
}

export interface OtherHolder {
  readonly host: string;
  readonly pid: number;
  readonly application?: string;
  readonly version?: string;
  readonly ttlMs?: number;
  readonly fingerprint?: string;
}

/** Another process in the registry: it leases, renews, and releases by the protocol. */
export async function leaseAs(support: IDistributedSupport, other: OtherHolder) {
  const { host, pid, application = 'shop', version } = other;
  const { ttlMs = 60_000, fingerprint = layouts.snowflake().fingerprint } = other;
  const terms = {
    fingerprint,
    ttlMs,
    minRangeMs: 1000,
    quarantineMs: 0,
  };
  const token = `${host} ${pid}`;
  const request = { ...terms, token, nonce: 'a', workerIdMin: 0, workerIdMax: 1023, haveMs: 0 };
  const answer = await support.getNextWorkId({
    ...request,
    holder: { host, pid, application, version },
  });
  const { workerId, ceilingMs, mark } = answer as Required<LeaseGrant>;
  const lease = { ...terms, workerId, token, nonce: 'a', nonceNext: 'a', haveMs: ceilingMs, mark };
  return {
    workerId,
    renew: () => support.refreshAlive(lease),
    leave: (lastIssuedMs?: number) => support.release!(lease, lastIssuedMs),
  };
}

/** Grants the lowest free worker ID, so each run of a page shows the same worker IDs. */
export class LowestFirst extends MemorySupport {
  override async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    for (let workerId = request.workerIdMin; workerId < request.workerIdMax; workerId++) {
      const only = { workerIdMin: workerId, workerIdMax: workerId };
      const answer = await super.getNextWorkId({ ...request, ...only });
      if (answer.status === 'ok') return answer;
    }
    return super.getNextWorkId(request);
  }
}
