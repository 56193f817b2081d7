/**
 * The metrics in registries of the real prom-client.
 */
import { describe, expect, it, jest } from '@jest/globals';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import * as client from 'prom-client';
import {
  registerOpenTelemetryLockMetrics,
  registerPrometheusLockMetrics,
  registerPrometheusMetrics,
} from '../../lib/metrics/index.js';
import { GENERATOR_METRICS, LOCK_METRICS } from '../../lib/metrics/metric-catalog.js';
import { DistributedLock, type LockStore, type OnceJobStatus } from '../../lib/nest/lock/index.js';
import { MemoryLocks } from '../../lib/stores/memory/index.js';
import { SettableTime } from '../../lib/testing/index.js';
import { ReaderInMemory, saying, settled, startApp } from './measured-app.js';

/** The samples of a scrape: `name{labels}` and the value. */
async function scrape(registry: client.Registry): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
  return new Map(
    lines.map((line) => {
      const [name, value] = [line.replace(/ \S+$/, ''), line.replace(/.* /, '')];
      return [name, Number(value)];
    }),
  );
}

const of = (samples: Map<string, number>, name: string): Record<string, number> =>
  Object.fromEntries([...samples].filter(([sample]) => sample.startsWith(name)));

describe('a prom-client registry', () => {
  it("shows the generator's state at the time of the scrape", async () => {
    const { app, time, ids } = await startApp();
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids }], { registry });
    ids.nextIds(5);
    const first = await scrape(registry);
    expect(first.get('snowflake_ids_issued_total{generator="default",space="shop"}')).toBe(5);
    expect(first.get('snowflake_waits_total{generator="default",space="shop"}')).toBe(0);
    expect(first.get('snowflake_worker_id{generator="default",space="shop"}')).toBe(
      ids.status.workerId,
    );
    time.wallMs -= 2000;
    ids.nextIds(10_000);
    const second = await scrape(registry);
    expect(second.get('snowflake_ids_issued_total{generator="default",space="shop"}')).toBe(10_005);
    expect(second.get('snowflake_clock_rollbacks_total{generator="default",space="shop"}')).toBe(1);
    await app.close();
  });

  it('shows one state at a time, and no worker ID without a lease', async () => {
    const { app, time, store, ids } = await startApp();
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids }], { registry });
    const states = async () => {
      const format = Object.entries(of(await scrape(registry), 'snowflake_lease_state'));
      expect(format).toHaveLength(8);
      return format
        .filter(([, value]) => value === 1)
        .map(([name]) => /state="(\w+)"/.exec(name)![1]);
    };
    expect(await states()).toEqual(['active']);
    store.isAway = true;
    await time.advance(13_000);
    expect(await states()).toEqual(['degraded']);
    await app.close();
    expect(await states()).toEqual(['released']);
    expect(of(await scrape(registry), 'snowflake_worker_id')).toEqual({});
  });

  it('shows times in seconds, and every answer starting at 0', async () => {
    const { app, time, ids } = await startApp();
    const registry = new client.Registry();
    const renewals = {
      countByAnswer: { ok: 7, error: 2 },
      waitedMs: 2500,
      durations: [
        { maxMs: 1, count: 3 },
        { maxMs: 2000, count: 4 },
        { maxMs: Infinity, count: 2 },
      ],
      recent: [],
      lastAt: new Date(time.now() - 4000),
    };
    const more = () => ({ readAt: new Date(time.now()), aheadMs: 250, renewals });
    registerPrometheusMetrics(client, [{ ids: saying(ids, more) }], { registry });
    const samples = await scrape(registry);
    const value = (name: string, labels = '') =>
      samples.get(`snowflake_${name}{generator="default",space="shop"${labels}}`);
    expect(value('lease_remaining_seconds')).toBe(60);
    expect(value('ids_ahead_seconds')).toBe(0.25);
    expect(value('renewal_duration_seconds_sum')).toBe(2.5);
    expect(value('renewal_duration_seconds_count')).toBe(9);
    expect(of(samples, 'snowflake_renewal_duration_seconds_bucket')).toEqual({
      'snowflake_renewal_duration_seconds_bucket{le="0.001",generator="default",space="shop"}': 3,
      'snowflake_renewal_duration_seconds_bucket{le="2",generator="default",space="shop"}': 7,
      'snowflake_renewal_duration_seconds_bucket{le="+Inf",generator="default",space="shop"}': 9,
    });
    expect(value('last_renewal_timestamp_seconds')).toBe(time.now() / 1000 - 4);
    expect(value('renewals_total', ',answer="ok"')).toBe(7);
    expect(value('renewals_total', ',answer="error"')).toBe(2);
    expect(value('renewals_total', ',answer="cloned"')).toBe(0);
    const years = value('layout_remaining_seconds')! / (365.25 * 86_400);
    expect(years).toBeCloseTo(67.7, 1);
    await app.close();
  });

  it('omits unknown values', async () => {
    const { app, ids } = await startApp({ workerId: 811 });
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids }], { registry });
    const samples = await scrape(registry);
    expect(of(samples, 'snowflake_lease_remaining_seconds')).toEqual({});
    expect(of(samples, 'snowflake_registry_info')).toEqual({});
    expect(of(samples, 'snowflake_workers')).toEqual({});
    expect(samples.get('snowflake_worker_id{generator="default",space="nestjs-snowflake"}')).toBe(
      811,
    );
    await app.close();
  });

  it('shows the incarnation of the registry', async () => {
    const { app, ids } = await startApp();
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids }], { registry });
    const { incarnation } = ids.status;
    const own = `incarnation="${incarnation}",family="${incarnation}",side=""`;
    const name = `snowflake_registry_info{generator="default",space="shop",${own}}`;
    expect((await scrape(registry)).get(name)).toBe(1);
    await app.close();
  });

  it('lists every metric of the catalog, with its help and type', async () => {
    const { app, ids } = await startApp();
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids }], { registry });
    const text = await registry.metrics();
    for (const { prometheus, help, kind } of GENERATOR_METRICS.metrics) {
      expect(text).toContain(`# HELP ${prometheus} ${help}\n# TYPE ${prometheus} ${kind}`);
    }
    await app.close();
  });
});

describe('several generators', () => {
  it('share the metrics of a registry, each with a label, until unregistered', async () => {
    const [shop, stock] = [await startApp(), await startApp()];
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids: shop.ids }], { registry });
    const { ids } = stock;
    const remove = registerPrometheusMetrics(client, [{ name: 'stock', ids }], { registry });
    shop.ids.nextIds(3);
    ids.nextIds(4);
    expect(of(await scrape(registry), 'snowflake_ids_issued_total')).toEqual({
      'snowflake_ids_issued_total{generator="default",space="shop"}': 3,
      'snowflake_ids_issued_total{generator="stock",space="shop"}': 4,
    });
    remove();
    expect(of(await scrape(registry), 'snowflake_ids_issued_total')).toEqual({
      'snowflake_ids_issued_total{generator="default",space="shop"}': 3,
    });
    await Promise.all([shop.app.close(), stock.app.close()]);
  });

  it('return to a registry that was cleared', async () => {
    const { app, ids } = await startApp();
    const registry = new client.Registry();
    registerPrometheusMetrics(client, [{ ids }], { registry });
    registry.clear();
    expect((await scrape(registry)).size).toBe(0);
    registerPrometheusMetrics(client, [{ ids }], { registry });
    expect(of(await scrape(registry), 'snowflake_worker_id')).not.toEqual({});
    await app.close();
  });

  it('use the default registry if no registry is given', async () => {
    const { app, ids } = await startApp();
    const remove = registerPrometheusMetrics(client, [{ ids }]);
    expect(
      (await scrape(client.register)).has(
        'snowflake_waits_total{generator="default",space="shop"}',
      ),
    ).toBe(true);
    remove();
    client.register.clear();
    await app.close();
  });
});

describe('worker IDs in use and free', () => {
  it('are read once a period, appear at once, and disappear without a store', async () => {
    const { app, time, store, ids } = await startApp();
    const registry = new client.Registry();
    const generator = { ids, support: store, workersEveryMs: 30_000 };
    registerPrometheusMetrics(client, [generator], { registry });
    const format = async () => {
      const values = Object.values(of(await scrape(registry), 'snowflake_workers'));
      await settled();
      return values;
    };
    expect(await format()).toEqual([1, 1023]);
    expect(await format()).toEqual([1, 1023]);
    expect(store.workersAsked).toBe(1);
    store.isAway = true;
    await time.advance(29_000);
    expect(await format()).toEqual([1, 1023]);
    await time.advance(2000);
    await format();
    expect(await format()).toEqual([]);
    expect(store.workersAsked).toBe(2);
    await app.close();
  });
});

describe('other kinds of collection', () => {
  it('an OpenMetrics registry keeps the same names over repeated scrapes', async () => {
    const { app, ids } = await startApp();
    const registry = new client.Registry<client.OpenMetricsContentType>();
    registry.setContentType(client.Registry.OPENMETRICS_CONTENT_TYPE);
    registerPrometheusMetrics(client, [{ ids }], { registry });
    ids.nextIds(3);
    await registry.metrics();
    registerPrometheusMetrics(client, [{ name: 'again', ids }], { registry });
    expect(await registry.metrics()).toContain(
      'snowflake_ids_issued_total{generator="again",space="shop"} 3',
    );
    await app.close();
  });

  it('cluster workers are merged: the sum of counters, the worst of gauges', async () => {
    const [one, two] = [await startApp(), await startApp()];
    const parts = [one, two].map(async ({ ids, time }, at) => {
      const registry = new client.Registry();
      const more = () => ({
        readAt: new Date(ids.status.leaseEndsAt!.getTime() - 1000 * (at + 1)),
      });
      registerPrometheusMetrics(client, [{ ids: saying(ids, more) }], { registry });
      ids.nextIds(5);
      await time.advance(13_000);
      return registry.getMetricsAsJSON();
    });
    const samples = await scrape(client.AggregatorRegistry.aggregate(await Promise.all(parts)));
    expect(samples.get('snowflake_ids_issued_total{generator="default",space="shop"}')).toBe(10);
    expect(samples.get('snowflake_lease_remaining_seconds{generator="default",space="shop"}')).toBe(
      1,
    );
    expect(
      samples.get('snowflake_lease_state{generator="default",space="shop",state="active"}'),
    ).toBe(2);
    expect(of(samples, 'snowflake_worker_id')).toEqual({});
    const bucket =
      'snowflake_renewal_duration_seconds_bucket{le="+Inf",generator="default",space="shop"}';
    const renewals = [one, two].map(({ ids }) => ids.status.renewals!.countByAnswer['ok']!);
    expect(Math.min(...renewals)).toBeGreaterThan(0);
    expect(samples.get(bucket)).toBe(renewals[0]! + renewals[1]!);
    await Promise.all([one.app.close(), two.app.close()]);
  });
});

/*
 * Lock metrics in the real prom-client and the real OpenTelemetry SDK: held, awaited, acquired,
 * refused, and lost locks, in settable time.
 */
/** Locks of two processes in one store, which can fail. */
function measured() {
  const time = new SettableTime();
  const memory = new MemoryLocks({ clock: time });
  const away = { isAway: false };
  const unlessAway = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
    return async (...args: A): Promise<T> => {
      if (away.isAway) throw new Error('connection refused');
      return call(...args);
    };
  };
  const store: LockStore = {
    lossWindowMs: 0,
    acquire: unlessAway((request) => memory.acquire(request)),
    extend: unlessAway((request) => memory.extend(request)),
    release: unlessAway((request) => memory.release(request)),
  };
  const options = { clock: time, monotonic: time, timers: time, ttlMs: 1000 };
  const registry = new client.Registry();
  const locks = new DistributedLock(store, options);
  registerPrometheusLockMetrics(client, [{ locks }], { registry });
  return { time, away, registry, locks, other: new DistributedLock(memory, options) };
}

async function format(registry: client.Registry): Promise<Record<string, number>> {
  const metrics = await registry.getMetricsAsJSON();
  return Object.fromEntries(
    metrics.flatMap(({ name, values }) =>
      values.map(({ labels, value }) => {
        const { locks: _, ...more } = labels as Record<string, string>;
        const short = name.replace('snowflake_locks_', '');
        return [[short, ...Object.values(more)].join(' '), value];
      }),
    ),
  );
}

/** The status of a job of `@CronOnce`. */
const jobOf = (): OnceJobStatus => ({
  job: 'Reports.nightly',
  schedule: '0 3 * * * UTC',
  settledMs: 0,
  dueMs: 90_000,
  overdueMs: 0,
  isRunning: false,
  runningMs: undefined,
  runCounts: { done: 3, failed: 1, 'too-long': 0, lost: 2, 'given-up': 0, interrupted: 0 },
  skippedCount: 5,
  sharedWith: 'mail',
});

describe('lock metrics', () => {
  it('start each counter at 0, and contain no lock names', async () => {
    const { registry } = measured();
    expect(await format(registry)).toEqual({
      held: 0,
      waiting: 0,
      'attempts_total acquired': 0,
      'attempts_total refused': 0,
      'attempts_total unavailable': 0,
      waited_seconds_total: 0,
      lost_total: 0,
    });
  });

  it('count held, awaited, acquired, and refused locks, and their times', async () => {
    const { time, registry, locks, other } = measured();
    const first = (await locks.tryAcquire('order:1'))!;
    const second = (await other.tryAcquire('order:2'))!;
    expect(await locks.tryAcquire('order:2')).toBeUndefined();
    const waiting = locks.tryAcquire('order:2', { waitMs: 60_000 });
    await time.advance(2000);
    expect(await format(registry)).toMatchObject({
      held: 1,
      longest_held_seconds: 2,
      waiting: 1,
      'attempts_total acquired': 1,
      'attempts_total refused': 1,
    });
    await second.release();
    await time.advance(2000);
    const third = (await waiting)!;
    const after = await format(registry);
    expect(after).toMatchObject({ held: 2, waiting: 0, 'attempts_total acquired': 2 });
    expect(after['waited_seconds_total']).toBeGreaterThanOrEqual(2);
    expect(after['longest_held_seconds']).toBe(4);
    await Promise.all([first.release(), third.release()]);
    const ended = await format(registry);
    expect(ended).toMatchObject({ held: 0, lost_total: 0 });
    expect(ended).not.toHaveProperty('longest_held_seconds');
  });

  it('distinguish a failed store from a held lock, and count lost locks', async () => {
    const { time, away, registry, locks } = measured();
    const held = (await locks.tryAcquire('order:1'))!;
    away.isAway = true;
    await expect(locks.tryAcquire('order:2')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await time.advance(1500);
    await settled();
    expect(held.signal.aborted).toBe(true);
    expect(await format(registry)).toMatchObject({
      held: 0,
      'attempts_total refused': 0,
      'attempts_total unavailable': 1,
      lost_total: 1,
    });
  });

  it('include each job by its name, separate from other labels', async () => {
    const { registry, locks } = measured();
    const never = { ...jobOf(), job: 'never', dueMs: undefined, runningMs: 4000 };
    const jobs = { status: () => [jobOf(), never] };
    registerPrometheusLockMetrics(client, [{ name: 'b', locks, jobs }], { registry });
    const values = of(await scrape(registry), 'snowflake_cron_');
    const nightly = 'locks="b",cron_job="Reports.nightly"';
    expect(values).toMatchObject({
      [`snowflake_cron_due_timestamp_seconds{${nightly}}`]: 90,
      'snowflake_cron_running_seconds{locks="b",cron_job="never"}': 4,
      [`snowflake_cron_runs_total{${nightly},outcome="done"}`]: 3,
      [`snowflake_cron_runs_total{${nightly},outcome="too-long"}`]: 0,
      [`snowflake_cron_skipped_total{${nightly}}`]: 5,
      [`snowflake_cron_shared{${nightly}}`]: 1,
    });
    expect(Object.keys(values)).toHaveLength(2 + 2 * 6 + 2 + 2);
  });

  it('read the status of many locks once per scrape', async () => {
    const { registry, locks } = measured();
    const reads = jest.spyOn(locks, 'status', 'get');
    await registry.metrics();
    expect(reads).toHaveBeenCalledTimes(1);
    await registry.metrics();
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it('reject a value that is not a DistributedLock with an explanation', () => {
    const { locks } = measured();
    const adding = (given: unknown) => () =>
      registerPrometheusLockMetrics(client, given as never, { registry: new client.Registry() });
    expect(adding([locks])).toThrow('Expected `locks` to be a DistributedLock, got undefined.');
    expect(adding({ locks })).toThrow('Expected a list of what to measure');
    expect(adding([{ locks, jobs: {} }])).toThrow('Expected `jobs` to be an object with status()');
    expect(adding([{ locks, name: 'a b' }])).toThrow('`name`');
  });

  it.each([undefined, {}, new client.Registry()])(
    'reject %p as prom-client or a meter',
    (given) => {
      const toProm = () => registerPrometheusMetrics(given as never, []);
      expect(toProm).toThrow('Expected `client` to be an object with Counter(), Gauge(), got');
      const toMeter = () => registerOpenTelemetryLockMetrics(given as never, []);
      expect(toMeter).toThrow('Expected `meter` to be an object with createObservableGauge()');
    },
  );

  it('have one label per store, and can be unregistered', async () => {
    const { registry, locks, other } = measured();
    await other.tryAcquire('order:1');
    const remove = registerPrometheusLockMetrics(client, [{ name: 'other', locks: other }], {
      registry,
    });
    expect(locks.status.held).toHaveLength(0);
    const text = await registry.metrics();
    expect(text).toContain('snowflake_locks_held{locks="default"} 0');
    expect(text).toContain('snowflake_locks_held{locks="other"} 1');
    remove();
    expect(await registry.metrics()).not.toContain('locks="other"');
  });

  it('are the same in OpenTelemetry, with unit and description', async () => {
    const { time, locks } = measured();
    const reader = new ReaderInMemory();
    const meter = new MeterProvider({ readers: [reader] }).getMeter('nestjs-snowflake');
    const jobs = { status: () => [{ ...jobOf(), runningMs: 1 }] };
    registerOpenTelemetryLockMetrics(meter, [{ locks, jobs }]);
    await locks.tryAcquire('order:1');
    await time.advance(500);
    const found = await reader.read();
    for (const { openTelemetry, unit, help } of LOCK_METRICS.metrics) {
      expect(found.get(openTelemetry)!.descriptor).toMatchObject({ unit, description: help });
    }
    expect(await reader.valuesOf('snowflake.locks.held')).toEqual({ default: 1 });
    expect(await reader.valuesOf('snowflake.locks.longest_held.seconds')).toEqual({ default: 0.5 });
    expect(await reader.valuesOf('snowflake.locks.attempts')).toEqual({
      'default acquired': 1,
      'default refused': 0,
      'default unavailable': 0,
    });
  });
});
