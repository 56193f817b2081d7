/**
 * One store of rows, the shortest there is, keeps all three contracts: of worker ids, of counters
 * and of locks.
 */
import { describe, expect, it } from '@jest/globals';
import { RowCounters } from '../../lib/counters/row-counters.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
} from '../../lib/testing/index.js';
import { mapStore } from './settable-stores.js';

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
