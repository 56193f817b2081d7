/**
 * Locks whose clock and losses are in the hands of a test: those in memory, as they are or as a
 * mutant of them, under any loss window; and those in rows.
 */
import type { LockMap, LockState } from '../../lib/backends/memory/lock-map.js';
import { checkAcquire, checkExtend, checkRelease } from '../../lib/lock/check-request.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import type { RowLocks } from '../../lib/lock/row-locks.js';
import { SettableTime, type LockBenchParts } from '../../lib/testing/index.js';
import { MapRows } from './map-rows.js';

export type LockBenchStore = Omit<LockBenchParts, 'expect'>;

export const LOSS_WINDOW_MS = 5000;

/** Time and server, by the name of a store. */
export class LockReadings {
  readonly clock = new SettableTime();
  private readonly servers = new Map<string, number>();
  private count = 0;

  constructor(private readonly lossWindowMs = LOSS_WINDOW_MS) {}

  of(name: string) {
    const server = `server${this.servers.get(name) ?? 0}`;
    const random = `text${++this.count}`;
    return { timeMs: this.clock.now(), server, random, lossWindowMs: this.lossWindowMs };
  }

  changeServer(name: string): void {
    this.servers.set(name, (this.servers.get(name) ?? 0) + 1);
  }

  readonly control = {
    now: () => this.clock.now(),
    advance: (ms: number) => void (this.clock.wallMs += ms),
  };
}

export function memoryLockStore(
  Map_: new () => LockMap,
  lossWindowMs = LOSS_WINDOW_MS,
): LockBenchStore {
  const readings = new LockReadings(lossWindowMs);
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
  const readings = new LockReadings(lossWindowMs);
  const tables = new Map<string, MapRows>();
  const kept = new Map<string, MapRows['table']>();
  const rowsOf = (name: string) => {
    if (!tables.has(name)) tables.set(name, new MapRows(() => readings.of(name), lossWindowMs));
    return tables.get(name)!;
  };
  return {
    clockControl: readings.control,
    createStore: (name) => new RowLocks_(rowsOf(name)),
    lossControl: {
      wipe: (name) => rowsOf(name).table.clear(),
      restart: (name) => readings.changeServer(name),
      remember: (name) => void kept.set(name, structuredClone(rowsOf(name).table)),
      restore(name) {
        rowsOf(name).table = structuredClone(kept.get(name)!);
        readings.changeServer(name);
      },
    },
  };
}
