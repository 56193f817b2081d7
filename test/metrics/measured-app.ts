/**
 * Applications whose generators are measured: leases from memory, time that the test moves, and a
 * store that can be away.
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
  /** Renews what is held and leases nothing new. */
  grantsNone = false;
  /** How often it was asked who holds what. */
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

/** A generator whose status says something else in part. */
export function saying(ids: IdMaker, more: () => Partial<LeaseStatus>): MeasuredGenerator['ids'] {
  return {
    layout: ids.layout,
    workerIds: ids.workerIds,
    get status() {
      return { ...(ids.status as LeaseStatus), ...more() };
    },
  };
}

/** Every promise that can go on has done so. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// The names under which Prometheus gets the metrics: by prom-client, by the OpenTelemetry exporter
// for Node, and by a collector that goes by the rule of the specification.

/** A generator of each kind and locks, with a value for every metric that there is. */
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
  // It knows for how long its ids last once it has refilled.
  const lasts = (): boolean =>
    (counted.ids.status as { bufferedMs?: number }).bufferedMs !== undefined;
  await until(async () => (await counted.ids.nextIdAsync()) > 0n && lasts());
  const locks = new DistributedLock(new MemoryLocks(), {});
  const held = await locks.tryAcquire('order:7');
  const job = await jobThatRuns(locks);
  const generators = [
    // No region is claimed in memory.
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
    // By the time of the locks, which is that of the host, it is due at once.
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

/** What a scrape of prom-client gets. */
export async function byPromClient({ generators, locks }: Measured): Promise<string> {
  const registry = new client.Registry();
  metrics.registerPrometheusMetrics(client, generators, { registry });
  metrics.registerPrometheusLockMetrics(client, locks, { registry });
  return registry.metrics();
}

/** What a scrape of the exporter for Node gets. */
export async function byNodeExporter({ generators, locks }: Measured): Promise<string> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  // Of its own copy of the SDK, which is the same but for its private names.
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

/** The names of the series in a scrape, without those of the scraped process itself. */
export function seriesIn(scrape: string): string[] {
  const names = scrape.match(/^\w+(?=[{ ])/gm) ?? [];
  return [...new Set(names)].filter((name) => name !== 'target_info').toSorted();
}

/**
 * The name that the OpenTelemetry Collector, and the receiver of Prometheus itself, give a metric:
 * the words of its name, its unit unless it is one of them, `total` at the end of a counter.
 */
export function byCollector({
  openTelemetry,
  unit,
  kind,
}: Pick<MetricOf<never>, 'openTelemetry' | 'unit' | 'kind'>): string {
  const words = openTelemetry.split(/[^a-zA-Z0-9]+/);
  // A unit in braces is a remark; 1 is that of a ratio.
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
 * A reader of the real OpenTelemetry SDK that keeps what it collects in memory.
 */

export class ReaderInMemory extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}

  /** Every metric that has a value, by its name. */
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

  /** The values of one metric, each behind its attributes. */
  async valuesOf(name: string): Promise<Record<string, unknown>> {
    const points = (await this.read()).get(name)?.dataPoints ?? [];
    return Object.fromEntries(
      points.map(({ attributes, value }) => [Object.values(attributes).join(' '), value]),
    );
  }
}
