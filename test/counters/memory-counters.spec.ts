/**
 * The reference rules keep the contract: with a loss window and without one, and in the store that
 * applications use.
 */
import { describe, expect, it } from '@jest/globals';
import { CounterMap } from '../../lib/stores/memory/memory-counters.js';
import { countersOf } from '../../lib/stores/schemes.js';
import { MemoryCounters } from '../../lib/index.js';
import { describeCounterStore, SettableTime } from '../../lib/testing/index.js';
import { memoryCounterStore } from './settable-counters.js';

describe('counters in memory that lose what is younger than five seconds', () => {
  describeCounterStore({ test: it, expect, ...memoryCounterStore(CounterMap) });
});

describe('counters in memory that lose nothing', () => {
  describeCounterStore({ test: it, expect, ...memoryCounterStore(CounterMap, 0) });
});

describe('MemoryCounters', () => {
  const clock = new SettableTime();
  const stores = new Map<string, MemoryCounters>();
  describeCounterStore({
    test: it,
    expect,
    createStore(name) {
      const store = stores.get(name) ?? new MemoryCounters({ clock });
      stores.set(name, store);
      return store;
    },
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    leaveOut: ['losses'],
  });
});

describe('a URL', () => {
  it('leads to the counters of its store, where that has any', async () => {
    const redis = await countersOf('redis://localhost:1?namespace=shop');
    expect(redis.location).toBe('Redis at localhost:1, database 0, snowflake:{shop}:counters');
    const sql = await countersOf('postgres://app@localhost/shop?namespace=a');
    expect(sql.location).toContain('table snowflake_counters, namespace a');
    expect(sql.lossWindowMs).toBe(16_000);
    for (const url of ['etcd://localhost', 'file:./x', 'static:1', 'nothing']) {
      await expect(countersOf(url)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });
});
