/**
 * What a status says of time and renewals, as the metrics show it: real leases, real prom-client.
 */
import { describe, expect, it } from '@jest/globals';
import * as client from 'prom-client';
import type { LeaseAnswer } from 'nestjs-snowflake';
import { RenewalRecord } from '../../lib/lease/keeper.js';
import { registerPrometheusMetrics } from '../../lib/metrics/index.js';
import { settled, startApp } from './measured-app.js';

async function startMeasured(options: Parameters<typeof startApp>[0] = {}) {
  const started = await startApp(options);
  const registry = new client.Registry();
  const { ids, store: support } = started;
  registerPrometheusMetrics(client, [{ ids, support }], { registry });
  const value = async (name: string, label = '') => {
    const wanted = `snowflake_${name}{generator="default"${label}} `;
    const lines = (await registry.metrics()).split('\n');
    const found = lines.find((line) => line.startsWith(wanted));
    return found === undefined ? undefined : Number(found.slice(wanted.length));
  };
  return { ...started, value };
}

describe('metrics of renewals', () => {
  it('count them by answer, from a first 0', async () => {
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

  it('count what an answer behind the time limit says, for the alarms on it', async () => {
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

  it('add up the time they take, up to the time limit of a call', async () => {
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

describe('the durations of renewals', () => {
  it('are counted in spans whose ends belong to them, and the last ones are kept', () => {
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
  it('are read by the clock of the ids', async () => {
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

  it('let worker ids be counted', async () => {
    const { app, value } = await startMeasured();
    await value('workers_free');
    await settled();
    expect([await value('workers_in_use'), await value('workers_free')]).toEqual([1, 1023]);
    await app.close();
  });
});
