/**
 * Applications with measured generators: leases in memory, settable time, and a store that can
 * fail.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { IdMaker, MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
import type {
  LeaseAnswer,
  LeaseStatus,
  LeaseRequest,
  SnowflakeModuleOptions,
  WorkerLease,
  WorkerRecord,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import * as client from 'prom-client';
import * as metrics from '../../lib/metrics/index.js';
import type { MeasuredGenerator } from '../../lib/metrics/index.js';
import type { MetricOf } from '../../lib/metrics/metric.js';
import { OnceJob } from '../../lib/cron/cron-once.js';
import { DistributedLock } from '../../lib/nest/lock/index.js';
import { startSegments } from '../../lib/nest/segments/index.js';
import { MemoryCounters, MemoryLocks } from '../../lib/stores/memory/index.js';
import { until } from '../until.js';

export class StoreThatFails extends MemorySupport {
  isAway = false;
  /** Renews leases, but grants no new ones. */
  grantsNone = false;
  /** The number of calls of workers(). */
  workersAsked = 0;

  override async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    this.answer();
    if (this.grantsNone) return { status: 'none-free', waitMs: 1000 };
    return super.getNextWorkId(request);
  }

  override async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    this.answer();
    return super.refreshAlive(lease);
  }

  override async workers(): Promise<WorkerRecord[]> {
    this.workersAsked++;
    this.answer();
    return super.workers();
  }

  private answer(): void {
    if (this.isAway) throw new Error('connection refused');
  }
}

export async function startApp(options: SnowflakeModuleOptions = {}) {
  const time = new SettableTime();
  const store = new StoreThatFails({ clock: time, namespace: 'shop' });
  const given = options.workerId === undefined ? { support: store } : {};
  const app = await Test.createTestingModule({
    imports: [
      ScheduleModule.forRoot(),
      SnowflakeModule.forRoot({
        ...given,
        clock: time,
        timers: time,
        ...options,
      }),
    ],
  }).compile();
  await app.init();
  return { app, time, store, ids: app.get(IdMaker) };
}

/** A generator whose status is overridden in part. */
export function saying(ids: IdMaker, more: () => Partial<LeaseStatus>): MeasuredGenerator['ids'] {
  return {
    layout: ids.layout,
    workerIds: ids.workerIds,
    get status() {
      return { ...(ids.status as LeaseStatus), ...more() };
    },
  };
}

/** Runs every promise that can proceed. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// The names of the metrics in Prometheus: by prom-client, by the OpenTelemetry exporter for Node,
// and by a collector that follows the specification.

/** A generator of each kind and locks, with a value for every metric. */
export async function everythingMeasured() {
  const { app, time, store, ids } = await startApp();
  await time.advance(13_000);
  const numbers = new MemoryCounters();
  const counted = await startSegments({
    store: numbers,
    counter: 'order',
    startAt: 1n,
    stepMin: 2,
  });
  // After a refill, the generator can tell how long its IDs last.
  const lasts = (): boolean =>
    (counted.ids.status as { bufferedMs?: number }).bufferedMs !== undefined;
  await until(async () => (await counted.ids.nextIdAsync()) > 0n && lasts());
  const locks = new DistributedLock(new MemoryLocks(), {});
  const held = await locks.tryAcquire('order:7');
  const job = await jobThatRuns(locks);
  const generators = [
    // Memory stores claim no region.
    { ids: saying(ids, () => ({ region: { number: 3, state: 'claimed' } })), support: store },
    { name: 'counted', ids: counted.ids },
  ];
  const close = async () => {
    job.end();
    await held?.release();
    await locks.close();
    await counted.close();
    await app.close();
  };
  return { generators, locks: [{ locks, jobs: { status: () => [job.status] } }], close };
}

/** A job of @CronOnce whose first run has begun. */
async function jobThatRuns(locks: DistributedLock) {
  const time = new SettableTime(Date.now());
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const job = new OnceJob({
    locks,
    clock: time,
    timers: time,
    random: () => 0.5,
    job: 'Reports.nightly',
    lock: 'cron:Reports.nightly',
    by: 'this process',
    // The host's clock sets the time of locks, so the job is due at once.
    schedule: { text: 'each millisecond', next: (afterMs) => afterMs + 1 },
    application: 'this application',
    lateMs: 60_000,
    missed: 'once',
    attempts: 3,
    holdAtMostMs: 60_000,
    run: () => ended,
    notify: () => {},
  });
  void job.begin();
  await until(async () => {
    await time.advance(1000);
    return job.status.isRunning;
  });
  return {
    get status() {
      return job.status;
    },
    end: () => (void job.close(), end()),
  };
}

type Measured = Pick<Awaited<ReturnType<typeof everythingMeasured>>, 'generators' | 'locks'>;

/** The response of a prom-client scrape. */
export async function byPromClient({ generators, locks }: Measured): Promise<string> {
  const registry = new client.Registry();
  metrics.registerPrometheusMetrics(client, generators, { registry });
  metrics.registerPrometheusLockMetrics(client, locks, { registry });
  return registry.metrics();
}

/** The response of a scrape of the exporter for Node. */
export async function byNodeExporter({ generators, locks }: Measured): Promise<string> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  // The exporter has its own copy of the SDK, which differs only in private names.
  const readers = [exporter as unknown as MetricReader];
  const provider = new MeterProvider({ readers });
  const meter = provider.getMeter('nestjs-snowflake');
  metrics.registerOpenTelemetryMetrics(meter, generators);
  metrics.registerOpenTelemetryLockMetrics(meter, locks);
  const server = createServer((request, response) =>
    exporter.getMetricsRequestHandler(request, response),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return await answer.text();
  } finally {
    server.close();
    server.closeAllConnections();
    await provider.shutdown();
  }
}

/** The names of the series in a scrape, without the series of the scraped process itself. */
export function seriesIn(scrape: string): string[] {
  const names = scrape.match(/^\w+(?=[{ ])/gm) ?? [];
  return [...new Set(names)].filter((name) => name !== 'target_info').toSorted();
}

/**
 * The metric name from the OpenTelemetry Collector and from Prometheus's own receiver: the words of
 * the name, the unit unless the name contains it, and `total` for a counter.
 */
export function byCollector({
  openTelemetry,
  unit,
  kind,
}: Pick<MetricOf<never>, 'openTelemetry' | 'unit' | 'kind'>): string {
  const words = openTelemetry.split(/[^a-zA-Z0-9]+/);
  // A unit in braces is a remark, and 1 is the unit of a ratio.
  const units: Readonly<Record<string, string>> = {
    s: 'seconds',
    ms: 'milliseconds',
    '1': 'ratio',
  };
  const word = unit.startsWith('{') ? '' : (units[unit] ?? unit);
  if (word !== '' && !words.includes(word)) words.push(word);
  return [...words.filter((one) => one !== 'total'), ...(kind === 'counter' ? ['total'] : [])].join(
    '_',
  );
}

/*
 * A reader of the real OpenTelemetry SDK that keeps collected data in memory.
 */

export class ReaderInMemory extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}

  /** Every metric with a value, by name. */
  async read() {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw errors[0];
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return new Map(
      metrics
        .filter(({ dataPoints }) => dataPoints.length > 0)
        .map((metric) => [metric.descriptor.name, metric]),
    );
  }

  /** The values of one metric, by attributes. */
  async valuesOf(name: string): Promise<Record<string, unknown>> {
    const points = (await this.read()).get(name)?.dataPoints ?? [];
    return Object.fromEntries(
      points.map(({ attributes, value }) => [Object.values(attributes).join(' '), value]),
    );
  }
}
