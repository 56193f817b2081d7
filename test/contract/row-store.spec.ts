/**
 * One store of rows, the shortest there is, keeps all three contracts: of worker ids, of counters
 * and of locks.
 */
import { describe, expect, it } from '@jest/globals';
import { RowCounters } from '../../lib/counters/row-counters.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { MemoryRegistry, MemorySupport } from '../../lib/stores/memory/index.js';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
  SettableTime,
} from '../../lib/testing/index.js';
import { mapStore, memoryStore } from './settable-stores.js';

describe('a Map under RegistrySupport', () => {
  describeDistributedSupport({
    test: it,
    expect,
    ...mapStore((store) => new RegistrySupport(store)),
  });
});

describe('a Map under RowCounters', () => {
  const {
    createSupport: createStore,
    clockControl,
    lossControl,
  } = mapStore((store) => new RowCounters(store));
  describeCounterStore({ test: it, expect, createStore, clockControl, lossControl });
});

describe('a Map under RowLocks', () => {
  const {
    createSupport: createStore,
    clockControl,
    lossControl,
  } = mapStore((store) => new RowLocks(store));
  const leaveOut = ['untilReleased'] as const;
  describeLockStore({ test: it, expect, createStore, clockControl, lossControl, leaveOut });
});

// The registry in memory keeps the contract, bare and as the support that applications use.

describe('MemoryRegistry', () => {
  describeDistributedSupport({ test: it, expect, ...memoryStore(MemoryRegistry) });
});

describe('MemorySupport', () => {
  const clock = new SettableTime();
  const registries = new Map<string, MemoryRegistry>();
  describeDistributedSupport({
    test: it,
    expect,
    createSupport(name) {
      const registry = registries.get(name) ?? new MemoryRegistry();
      registries.set(name, registry);
      return new MemorySupport({ registry, clock });
    },
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    leaveOut: ['losses', 'version'],
  });
});

describe('a suite without a control', () => {
  it('says so before any test runs, unless what needs it is left out', () => {
    const { createSupport } = memoryStore(MemoryRegistry);
    const describeIt = (leaveOut: ('clock' | 'losses' | 'version')[]) => () =>
      describeDistributedSupport({ test: () => undefined, expect, createSupport, leaveOut });
    expect(describeIt([])).toThrow('Expected `clockControl`, got nothing.');
    expect(describeIt(['clock'])).toThrow("say with `leaveOut: ['losses']`");
    expect(describeIt(['clock', 'losses'])).toThrow('Expected `versionControl`, got nothing.');
    expect(describeIt(['clock', 'losses', 'version'])).not.toThrow();
  });
});
