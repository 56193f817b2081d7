/**
 * The reference rules keep the contract: with a loss window and without one, in the store that
 * applications use, and over rows.
 */
import { describe, expect, it } from '@jest/globals';
import { LockMap } from '../../lib/stores/memory/memory-locks.js';
import { MemoryLocks } from '../../lib/index.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { describeLockStore, SettableTime } from '../../lib/testing/index.js';
import { memoryLockStore, rowLockStore } from './settable-locks.js';

describe('locks in memory that lose what is younger than five seconds', () => {
  describeLockStore({
    test: it,
    expect,
    ...memoryLockStore(LockMap),
    leaveOut: ['untilReleased'],
  });
});

describe('locks in memory that lose nothing', () => {
  describeLockStore({
    test: it,
    expect,
    ...memoryLockStore(LockMap, 0),
    leaveOut: ['untilReleased'],
  });
});

describe('MemoryLocks', () => {
  const clock = new SettableTime();
  const stores = new Map<string, MemoryLocks>();
  describeLockStore({
    test: it,
    expect,
    createStore(name) {
      const store = stores.get(name) ?? new MemoryLocks({ clock });
      stores.set(name, store);
      return store;
    },
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    leaveOut: ['losses'],
  });
});

describe('locks in rows that lose what is younger than five seconds', () => {
  describeLockStore({
    test: it,
    expect,
    ...rowLockStore(RowLocks),
    leaveOut: ['untilReleased'],
  });
});

describe('locks in rows that lose nothing', () => {
  describeLockStore({
    test: it,
    expect,
    ...rowLockStore(RowLocks, 0),
    leaveOut: ['untilReleased'],
  });
});
