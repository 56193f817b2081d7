/**
 * What Prometheus reads: the process (memory, event loop), its ids and its locks. The registry is
 * the application's own, so that two applications in one process do not mix.
 */
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { IDistributedSupport, IdMaker, InjectIdMaker } from 'nestjs-snowflake';
import { DistributedLock } from 'nestjs-snowflake/lock';
import { registerPrometheusLockMetrics, registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import * as client from 'prom-client';

@Injectable()
export class MetricsService implements OnApplicationShutdown {
  private readonly registry = new client.Registry();

  /** With the support, worker ids in use and free are counted too; it is asked once a minute. */
  constructor(
    ids: IdMaker,
    @Inject(IDistributedSupport) support: IDistributedSupport,
    @InjectIdMaker('invoices') invoices: IdMaker,
    locks: DistributedLock,
  ) {
    const { registry } = this;
    client.collectDefaultMetrics({ register: registry });
    const generators = [
      { ids, support },
      { name: 'invoices', ids: invoices },
    ];
    registerPrometheusMetrics(client, generators, { registry });
    registerPrometheusLockMetrics(client, [{ locks }], { registry });
  }

  read(): Promise<string> {
    return this.registry.metrics();
  }

  /** The observer of the garbage collector outlives us; it must not keep the ids alive. */
  onApplicationShutdown(): void {
    this.registry.clear();
  }
}
