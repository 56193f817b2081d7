/**
 * Counters whose clock and losses are in the hands of a test: those in memory, as they are or as a
 * mutant of them, under any loss window.
 */
import type { CounterMap, CounterState } from '../../lib/stores/memory/memory-counters.js';
import { checkNew, checkTake } from '../../lib/counters/check-take.js';
import { type CounterStore, namedGrant } from '../../lib/counters/counter-store.js';
import type { CounterBenchParts } from '../../lib/testing/index.js';
import { LOSS_WINDOW_MS, StoreReadings } from '../stores/store-readings.js';

export type CounterBenchStore = Omit<CounterBenchParts, 'expect'>;

export function memoryCounterStore(
  Map_: new () => CounterMap,
  lossWindowMs = LOSS_WINDOW_MS,
): CounterBenchStore {
  const readings = new StoreReadings(lossWindowMs);
  const maps = new Map<string, CounterMap>();
  const kept = new Map<string, CounterState | undefined>();
  const mapOf = (name: string) => {
    if (!maps.has(name)) maps.set(name, new Map_());
    return maps.get(name)!;
  };
  return {
    clockControl: readings.control,
    createStore: (name): CounterStore => ({
      lossWindowMs,
      async take(request) {
        checkTake(request);
        return mapOf(name).take(request, readings.of(name));
      },
      async giveBack(grant, unused) {
        const named = namedGrant(grant);
        if (named !== undefined) mapOf(name).giveBack(named, unused, readings.of(name));
      },
      async create(counter) {
        checkNew(counter);
        return mapOf(name).create(counter, readings.of(name));
      },
      counters: async () => mapOf(name).counters(readings.clock.now()),
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
