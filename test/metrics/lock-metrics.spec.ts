/**
 * The metrics of locks in the real prom-client and the real OpenTelemetry SDK: what is held, waited
 * for, got, refused and lost, on locks whose time the test moves.
 */
import { describe, expect, it } from '@jest/globals';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import * as client from 'prom-client';
import { MemoryLocks } from '../../lib/stores/memory/index.js';
import { LOCK_METRICS } from '../../lib/metrics/metric-catalog.js';
import {
  registerOpenTelemetryLockMetrics,
  registerPrometheusLockMetrics,
} from '../../lib/metrics/index.js';
import { DistributedLock, type LockStore } from '../../lib/nest/lock/index.js';
import { SettableTime } from '../../lib/testing/index.js';
import { settled } from './measured-app.js';
import { ReaderInMemory } from './reader-in-memory.js';

/** Locks of two processes in one store, which can be away. */
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

describe('the metrics of locks', () => {
  it('begin with a 0 of each count, and name no lock', async () => {
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

  it('count what is held and for how long, waited for, got and refused', async () => {
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

  it('tell a store that is away from a lock that is held, and count what it loses', async () => {
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

  it('of several stores have a label each, and are taken out again', async () => {
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
    registerOpenTelemetryLockMetrics(meter, [{ locks }]);
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
