/**
 * The metrics as instruments of the real OpenTelemetry SDK, collected by a reader in memory.
 */
import { describe, expect, it } from '@jest/globals';
import { DataPointType, MeterProvider } from '@opentelemetry/sdk-metrics';
import { type LeaseAnswer, StaticSupport, type WorkerRecord } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import * as client from 'prom-client';
import { RenewalRecord } from '../../lib/lease/keeper.js';
import {
  registerOpenTelemetryMetrics,
  registerPrometheusMetrics,
} from '../../lib/metrics/index.js';
import { GENERATOR_METRICS } from '../../lib/metrics/metric-catalog.js';
import { WorkerCensus } from '../../lib/metrics/metric.js';
import { ReaderInMemory, saying, settled, startApp } from './measured-app.js';

interface HistogramValue {
  readonly count: number;
  readonly sum: number;
  readonly buckets: { readonly boundaries: readonly number[] };
}

const TYPES = {
  counter: DataPointType.SUM,
  gauge: DataPointType.GAUGE,
  histogram: DataPointType.HISTOGRAM,
};

function createMeter() {
  const reader = new ReaderInMemory();
  const provider = new MeterProvider({ readers: [reader] });
  return { reader, provider, meter: provider.getMeter('nestjs-snowflake') };
}

describe('an OpenTelemetry meter', () => {
  it('has every metric of the catalog, with kind, unit, and description', async () => {
    /** The other metrics need a generator without a worker ID, or the option `regions`. */
    const isOther = (name: string) => /\.(buffer|region)\./.test(name);
    const LEASED = GENERATOR_METRICS.metrics.filter(({ openTelemetry }) => !isOther(openTelemetry));
    const { app, time, store, ids } = await startApp();
    const { reader, provider, meter } = createMeter();
    registerOpenTelemetryMetrics(meter, [{ ids, support: store }]);
    await time.advance(13_000);
    ids.nextIds(4096 * 6);
    const found = await reader.read();
    expect([...found.keys()].toSorted()).toEqual(
      LEASED.map(({ openTelemetry }) => openTelemetry).toSorted(),
    );
    for (const { openTelemetry, unit, help, kind } of LEASED) {
      const { descriptor, dataPointType } = found.get(openTelemetry)!;
      expect(descriptor).toMatchObject({ unit, description: help });
      expect(dataPointType).toBe(TYPES[kind]);
    }
    // Five ticks ahead; the test's time advanced in fractions of a ms.
    const ahead = (await reader.valuesOf('snowflake.ids.ahead.seconds'))['default shop'] as number;
    expect(Math.round(ahead * 200)).toBe(1);
    expect(await reader.valuesOf('snowflake.workers.free')).toEqual({
      'default shop t41-w10-s12/1ms@1704067200000': 1023,
    });
    await provider.shutdown();
    await app.close();
  });

  it("shows the generator's state at the time of collection", async () => {
    const { app, time, store, ids } = await startApp();
    const { reader, provider, meter } = createMeter();
    registerOpenTelemetryMetrics(meter, [{ ids }]);
    ids.nextIds(5);
    expect(await reader.valuesOf('snowflake.ids.issued')).toEqual({ 'default shop': 5 });
    ids.nextIds(6);
    expect(await reader.valuesOf('snowflake.ids.issued')).toEqual({ 'default shop': 11 });
    const { workerId } = ids.status;
    expect(await reader.valuesOf('snowflake.worker.id')).toEqual({ 'default shop': workerId });
    store.isAway = true;
    await time.advance(13_000);
    expect(await reader.valuesOf('snowflake.lease.state')).toMatchObject({
      'default shop degraded': 1,
      'default shop active': 0,
    });
    await provider.shutdown();
    await app.close();
  });

  it('records each renewal once, including renewals before the first collection', async () => {
    const { app, time, store, ids } = await startApp();
    const { reader, provider, meter } = createMeter();
    await time.advance(21_000);
    registerOpenTelemetryMetrics(meter, [{ ids }]);
    const name = 'snowflake.renewal.duration.seconds';
    const recorded = async () => (await reader.valuesOf(name))['default shop'] as HistogramValue;
    const before = ids.status.renewals!.countByAnswer['ok']!;
    expect(before).toBeGreaterThan(0);
    expect((await recorded()).count).toBe(before);
    expect((await recorded()).count).toBe(before);
    store.refreshAlive = () => new Promise(() => {});
    await time.advance(12_500);
    const { count, sum, buckets } = await recorded();
    const errors = ids.status.renewals!.countByAnswer['error']!;
    expect(errors).toBeGreaterThan(0);
    expect(count).toBe(before + errors);
    expect(sum).toBeCloseTo(ids.status.renewals!.waitedMs / 1000, 5);
    expect(buckets.boundaries.slice(-3)).toEqual([1, 2, 5]);
    await provider.shutdown();
    const closing = app.close();
    await time.advance(10_000);
    await closing;
  });

  it('separates several generators until they are unregistered', async () => {
    const [shop, stock] = [await startApp(), await startApp()];
    const { reader, provider, meter } = createMeter();
    registerOpenTelemetryMetrics(meter, [{ ids: shop.ids }]);
    const remove = registerOpenTelemetryMetrics(meter, [{ name: 'stock', ids: stock.ids }]);
    shop.ids.nextIds(3);
    stock.ids.nextIds(4);
    expect(await reader.valuesOf('snowflake.ids.issued')).toEqual({
      'default shop': 3,
      'stock shop': 4,
    });
    remove();
    shop.ids.nextIds(1);
    stock.ids.nextIds(1);
    expect(await reader.valuesOf('snowflake.ids.issued')).toMatchObject({ 'default shop': 4 });
    expect(await reader.valuesOf('snowflake.ids.issued')).not.toMatchObject({ 'stock shop': 5 });
    await provider.shutdown();
    await Promise.all([shop.app.close(), stock.app.close()]);
  });
});

describe('a collection', () => {
  it('reads a generator once, and not between collections', async () => {
    const { app, ids } = await startApp();
    const { reader, provider, meter } = createMeter();
    let readCount = 0;
    registerOpenTelemetryMetrics(meter, [{ ids: saying(ids, () => (readCount++, {})) }]);
    ids.nextIds(1000);
    expect(readCount).toBe(0);
    await reader.read();
    expect(readCount).toBe(1);
    await provider.shutdown();
    await app.close();
  });
});

/*
 * Metrics of time and renewals from the status, with real leases and the real prom-client.
 */
async function startMeasured(options: Parameters<typeof startApp>[0] = {}) {
  const started = await startApp(options);
  const registry = new client.Registry();
  const { ids, store: support } = started;
  registerPrometheusMetrics(client, [{ ids, support }], { registry });
  const value = async (name: string, label = '') => {
    const wanted = `snowflake_${name}{generator="default",space="shop"${label}} `;
    const lines = (await registry.metrics()).split('\n');
    const found = lines.find((line) => line.startsWith(wanted));
    return found === undefined ? undefined : Number(found.slice(wanted.length));
  };
  return { ...started, value };
}

describe('metrics of renewals', () => {
  it('are counted by answer, starting at 0', async () => {
    const { app, time, store, value } = await startMeasured();
    expect(await value('renewals_total', ',answer="ok"')).toBe(0);
    expect(await value('last_renewal_timestamp_seconds')).toBeUndefined();
    await time.advance(13_000);
    expect(await value('renewals_total', ',answer="ok"')).toBe(1);
    const lastS = await value('last_renewal_timestamp_seconds');
    expect(time.now() / 1000 - lastS!).toBeLessThanOrEqual(5);
    store.isAway = true;
    await time.advance(13_000);
    expect(await value('renewals_total', ',answer="error"')).toBeGreaterThan(0);
    expect(await value('renewals_total', ',answer="fenced"')).toBe(0);
    expect(await value('last_renewal_timestamp_seconds')).toBe(lastS);
    await app.close();
  });

  it('record a late response after its time-out, for the alerts on it', async () => {
    const { app, time, store, value } = await startMeasured({ callTimeoutMs: 1500 });
    let answer: ((late: LeaseAnswer) => void) | undefined;
    store.refreshAlive = () => new Promise((resolve) => (answer = resolve));
    await time.advance(12_500);
    const errors = await value('renewals_total', ',answer="error"');
    expect(await value('renewals_total', ',answer="unknown"')).toBe(0);
    answer!({ status: 'unknown' });
    await settled();
    expect(await value('renewals_total', ',answer="unknown"')).toBe(1);
    expect(await value('renewals_total', ',answer="error"')).toBe(errors);
    const closing = app.close();
    await time.advance(10_000);
    await closing;
  });

  it('sum up durations, up to the time limit of a call', async () => {
    const { app, time, store, value } = await startMeasured({ callTimeoutMs: 1500 });
    store.refreshAlive = () => new Promise(() => {});
    await time.advance(12_500);
    expect(await value('renewal_duration_seconds_sum')).toBeCloseTo(
      1.5 * (await value('renewals_total', ',answer="error"'))!,
      2,
    );
    const closing = app.close();
    await time.advance(10_000);
    await closing;
  });
});

describe('renewal durations', () => {
  it('fall into buckets with inclusive ends, and only recent ones are kept', () => {
    const record = new RenewalRecord();
    const took = [0, 1, 2, 3, 500, 501, 2000, 2001, 5000, 5001, -7];
    for (const tookMs of took) record.note('ok', 1000, 1000 + tookMs);
    expect(record.countByDuration).toEqual([3, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 2, 1]);
    expect(record.recent.map(({ tookMs }) => tookMs)).toEqual([...took.slice(0, -1), 0]);
    for (let count = 0; count < 100; count++) record.note('error', 0, count);
    expect(record.recent).toHaveLength(64);
    expect(record.recent.at(-1)).toEqual({ outcome: 'error', tookMs: 99 });
    expect(record.countByDuration.reduce((sum, count) => sum + count)).toBe(111);
  });
});

describe('metrics of time', () => {
  it('are read by the clock of the IDs', async () => {
    const { app, time, ids, value } = await startMeasured();
    expect(await value('lease_remaining_seconds')).toBe(60);
    time.wallMs += 5000;
    expect(await value('lease_remaining_seconds')).toBe(55);
    expect(await value('ids_ahead_seconds')).toBe(0);
    ids.nextIds(4096 * 11);
    expect(await value('ids_ahead_seconds')).toBe(0.01);
    await time.advance(1000);
    expect(await value('ids_ahead_seconds')).toBe(0);
    expect(await value('layout_remaining_seconds')).toBeGreaterThan(67 * 365 * 86_400);
    await app.close();
  });

  it('worker IDs are counted', async () => {
    const { app, value } = await startMeasured();
    const layout = ',layout="t41-w10-s12/1ms@1704067200000"';
    await value('workers_free', layout);
    await settled();
    const counts = [await value('workers_in_use', layout), await value('workers_free', layout)];
    expect(counts).toEqual([1, 1023]);
    await app.close();
  });
});

/*
 * The worker-ID count delays no scrape, is read once a period, and is never stale.
 */
const record = (workerId: number, freeInMs: number): WorkerRecord => ({
  workerId,
  ceilingMs: 1000,
  freeInMs,
});
const IDS = { workerIds: { min: 0, max: 15 } };

async function counted(census: WorkerCensus, nowMs: number) {
  census.read(nowMs);
  await settled();
  return census.read(nowMs);
}

describe('the worker-ID count', () => {
  it('includes worker IDs in use outside the range that can be leased', async () => {
    const workers = async () => [record(0, 0), record(1, 5), record(7, 5), record(20, 5)];
    expect(await counted(new WorkerCensus({ workers }, IDS, 1000), 0)).toEqual({
      inUse: 2,
      free: 14,
    });
  });

  it('is absent without a lease, or without a list of holders', async () => {
    const fixed = new WorkerCensus(
      new StaticSupport(812),
      { workerIds: { min: 0, max: 1023 } },
      1000,
    );
    expect(await counted(fixed, 0)).toBeUndefined();
    expect(await counted(new WorkerCensus({}, IDS, 1000), 0)).toBeUndefined();
  });

  it('is read again after the clock moved back by more than a period', async () => {
    let asked = 0;
    const census = new WorkerCensus({ workers: async () => (asked++, []) }, IDS, 1000);
    await counted(census, 100_000);
    await counted(census, 99_500);
    expect(asked).toBe(1);
    await counted(census, 50_000);
    expect(asked).toBe(2);
  });

  it('disappears if the next response is missing, and returns with it', async () => {
    const open: ((records: WorkerRecord[]) => void)[] = [];
    const workers = () => new Promise<WorkerRecord[]>((resolve) => open.push(resolve));
    const census = new WorkerCensus({ workers }, IDS, 1000);
    census.read(0);
    open[0]!([record(1, 5)]);
    await settled();
    expect(census.read(1000)).toEqual({ inUse: 1, free: 15 });
    expect(census.read(1999)).toEqual({ inUse: 1, free: 15 });
    expect(census.read(2000)).toBeUndefined();
    open[2]!([record(1, 5), record(2, 5)]);
    await settled();
    expect(census.read(2001)).toEqual({ inUse: 2, free: 14 });
  });

  it('waits for its first value once, for one second at most', async () => {
    const time = new SettableTime();
    const silent = { workers: () => new Promise<WorkerRecord[]>(() => undefined) };
    const census = new WorkerCensus(silent, IDS, 1000, time);
    let isOver = false;
    const waited = census.first(0)!.then(() => (isOver = true));
    expect(census.first(10)).toBeDefined();
    await time.advance(999);
    expect(isOver).toBe(false);
    await time.advance(1);
    await waited;
    expect(census.first(5000)).toBeUndefined();
    expect(census.read(500)).toBeUndefined();
    expect(time.timerCount).toBe(0);
  });

  it('stops waiting when the response arrives', async () => {
    const time = new SettableTime();
    let asked = 0;
    const workers = async () => (asked++, [record(1, 5)]);
    const census = new WorkerCensus({ workers }, IDS, 1000, time);
    census.read(0);
    await census.first(0);
    expect(census.read(0)).toEqual({ inUse: 1, free: 15 });
    expect([asked, time.timerCount]).toEqual([1, 0]);
  });

  it('survives a support that throws instead of rejecting', async () => {
    const workers = () => {
      throw new Error('closed');
    };
    expect(await counted(new WorkerCensus({ workers }, IDS, 1000), 0)).toBeUndefined();
  });
});
