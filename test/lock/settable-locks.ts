/**
 * Locks whose clock and losses are in the hands of a test: those in memory, as they are or as a
 * mutant of them, under any loss window; and those in rows.
 */
import type { LockMap, LockState } from '../../lib/stores/memory/memory-locks.js';
import {
  checkAcquire,
  checkExtend,
  checkRelease,
  type LockStore,
} from '../../lib/lock/lock-store.js';
import type { RowLocks } from '../../lib/lock/row-locks.js';
import type { LockBenchParts } from '../../lib/testing/index.js';
import { LOSS_WINDOW_MS, StoreReadings } from '../stores/store-readings.js';
import { MapStore } from '../registry/map-store.js';

export type LockBenchStore = Omit<LockBenchParts, 'expect'>;

export function memoryLockStore(
  Map_: new () => LockMap,
  lossWindowMs = LOSS_WINDOW_MS,
): LockBenchStore {
  const readings = new StoreReadings(lossWindowMs);
  const maps = new Map<string, LockMap>();
  const kept = new Map<string, LockState | undefined>();
  const mapOf = (name: string) => {
    if (!maps.has(name)) maps.set(name, new Map_());
    return maps.get(name)!;
  };
  return {
    clockControl: readings.control,
    createStore: (name): LockStore => ({
      lossWindowMs,
      async acquire(request) {
        checkAcquire(request);
        return mapOf(name).acquire(request, readings.of(name));
      },
      async extend(request) {
        checkExtend(request);
        return mapOf(name).extend(request, readings.of(name));
      },
      async release(request) {
        checkRelease(request);
        mapOf(name).release(request, readings.of(name));
      },
      locks: async () => mapOf(name).locks(readings.clock.now()),
    }),
    lossControl: {
      wipe: (name) => void (mapOf(name).state = undefined),
      restart: (name) => readings.changeServer(name),
      remember: (name) => void kept.set(name, structuredClone(mapOf(name).state)),
      restore(name) {
        mapOf(name).state = structuredClone(kept.get(name));
        readings.changeServer(name);
      },
    },
  };
}

/** Each store made is another process on the same rows. */
export function rowLockStore(
  RowLocks_: typeof RowLocks,
  lossWindowMs = LOSS_WINDOW_MS,
): LockBenchStore {
  const readings = new StoreReadings(lossWindowMs);
  const tables = new Map<string, MapStore>();
  const kept = new Map<string, MapStore['rows']>();
  const rowsOf = (name: string) => {
    if (!tables.has(name)) tables.set(name, new MapStore(() => readings.of(name), lossWindowMs));
    return tables.get(name)!;
  };
  return {
    clockControl: readings.control,
    createStore: (name) => new RowLocks_(rowsOf(name)),
    lossControl: {
      wipe: (name) => rowsOf(name).rows.clear(),
      restart: (name) => readings.changeServer(name),
      remember: (name) => void kept.set(name, structuredClone(rowsOf(name).rows)),
      restore(name) {
        rowsOf(name).rows = structuredClone(kept.get(name)!);
        readings.changeServer(name);
      },
    },
  };
}
