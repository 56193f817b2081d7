/**
 * The metrics as instruments of the real OpenTelemetry SDK, collected by a reader in memory.
 */
import { describe, expect, it } from '@jest/globals';
import { DataPointType, MeterProvider } from '@opentelemetry/sdk-metrics';
import { registerOpenTelemetryMetrics } from '../../lib/metrics/index.js';
import { METRICS } from '../../lib/metrics/metric-catalog.js';
import { saying, startApp } from './measured-app.js';
import { ReaderInMemory } from './reader-in-memory.js';

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

describe('a meter of OpenTelemetry', () => {
  it('has every metric of the catalog, with its kind, unit and description', async () => {
    /** The others are of generators without a worker id. */
    const LEASED = METRICS.filter(({ openTelemetry }) => !openTelemetry.includes('.buffer.'));
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
    // Five ticks ahead; the time of the test has gone by in fractions of a ms.
    const ahead = (await reader.valuesOf('snowflake.ids.ahead.seconds'))['default'] as number;
    expect(Math.round(ahead * 200)).toBe(1);
    expect(await reader.valuesOf('snowflake.workers.free')).toEqual({ default: 1023 });
    await provider.shutdown();
    await app.close();
  });

  it('shows what a generator does at the moment of the collection', async () => {
    const { app, time, store, ids } = await startApp();
    const { reader, provider, meter } = createMeter();
    registerOpenTelemetryMetrics(meter, [{ ids }]);
    ids.nextIds(5);
    expect(await reader.valuesOf('snowflake.ids.issued')).toEqual({ default: 5 });
    ids.nextIds(6);
    expect(await reader.valuesOf('snowflake.ids.issued')).toEqual({ default: 11 });
    expect(await reader.valuesOf('snowflake.worker.id')).toEqual({ default: ids.status.workerId });
    store.isAway = true;
    await time.advance(13_000);
    expect(await reader.valuesOf('snowflake.lease.state')).toMatchObject({
      'default degraded': 1,
      'default active': 0,
    });
    await provider.shutdown();
    await app.close();
  });

  it('records each renewal once, also those before the first collection', async () => {
    const { app, time, store, ids } = await startApp();
    const { reader, provider, meter } = createMeter();
    await time.advance(21_000);
    registerOpenTelemetryMetrics(meter, [{ ids }]);
    const name = 'snowflake.renewal.duration.seconds';
    const recorded = async () => (await reader.valuesOf(name))['default'] as HistogramValue;
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

  it('keeps several generators apart, until they are taken out', async () => {
    const [shop, stock] = [await startApp(), await startApp()];
    const { reader, provider, meter } = createMeter();
    registerOpenTelemetryMetrics(meter, [{ ids: shop.ids }]);
    const remove = registerOpenTelemetryMetrics(meter, [{ name: 'stock', ids: stock.ids }]);
    shop.ids.nextIds(3);
    stock.ids.nextIds(4);
    expect(await reader.valuesOf('snowflake.ids.issued')).toEqual({ default: 3, stock: 4 });
    remove();
    shop.ids.nextIds(1);
    stock.ids.nextIds(1);
    expect(await reader.valuesOf('snowflake.ids.issued')).toMatchObject({ default: 4 });
    expect(await reader.valuesOf('snowflake.ids.issued')).not.toMatchObject({ stock: 5 });
    await provider.shutdown();
    await Promise.all([shop.app.close(), stock.app.close()]);
  });
});

describe('reading', () => {
  it('asks a generator once per collection, and never between two', async () => {
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
