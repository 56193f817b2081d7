/**
 * The Lua scripts on counters as the library runs them, but told time and server by the test; and
 * the Redis counters as applications use them, on a client that does so.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { copied, timedClient } from '../stores/timed-client.js';
import { timed, withTime } from '../stores/timed-scripts.js';
import { LOSS_WINDOW_MS, StoreReadings } from '../stores/store-readings.js';
import type { CounterBenchStore } from './settable-counters.js';

export const TIMED_COUNTER_LUA = {
  take: timed(SCRIPTS.takePositions.lua),
  giveBack: timed(SCRIPTS.giveBackPositions.lua),
  create: timed(SCRIPTS.createCounter.lua),
};

/** By the hash that the store knows. */
const TEXTS = new Map<string, string>([
  [SCRIPTS.takePositions.sha1, TIMED_COUNTER_LUA.take],
  [SCRIPTS.giveBackPositions.sha1, TIMED_COUNTER_LUA.giveBack],
  [SCRIPTS.createCounter.sha1, TIMED_COUNTER_LUA.create],
  [SCRIPTS.counters.sha1, withTime(SCRIPTS.counters.lua)],
]);

/** `opened` is to be closed after each test. */
export function redisCounterStore(redis: () => Redis, opened: RedisCounters[]): CounterBenchStore {
  const readings = new StoreReadings();
  const prefix = `${randomUUID()}:`;
  const keyOf = (name: string) => `${prefix}{${name}}:counters`;
  const changed = (from: string, to: string) => copied(redis(), from, to);
  return {
    clockControl: readings.control,
    createStore(name) {
      const store = new RedisCounters({
        redis: timedClient(redis(), TEXTS, () => readings.of(name)),
        namespace: name,
        prefix,
        lossWindowMs: LOSS_WINDOW_MS,
      });
      opened.push(store);
      return store;
    },
    lossControl: {
      wipe: async (name) => void (await redis().del(keyOf(name))),
      restart: (name) => readings.changeServer(name),
      remember: (name) => changed(keyOf(name), `${keyOf(name)}:kept`),
      async restore(name) {
        await changed(`${keyOf(name)}:kept`, keyOf(name));
        readings.changeServer(name);
      },
    },
  };
}
