/**
 * The Lua scripts on locks as the library runs them, but told time and server by the test; and the
 * Redis locks as applications use them, on a client that does so.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RedisLocks } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { copied, timedClient } from '../stores/timed-client.js';
import { timed, withTime } from '../stores/timed-scripts.js';
import { LOSS_WINDOW_MS, StoreReadings } from '../stores/store-readings.js';
import type { LockBenchStore } from './settable-locks.js';

export const TIMED_LOCK_LUA = {
  acquire: timed(SCRIPTS.acquireLock.lua),
  extend: timed(SCRIPTS.extendLock.lua),
  release: timed(SCRIPTS.releaseLock.lua),
};

/** By the hash that the store knows. */
const TEXTS = new Map<string, string>([
  [SCRIPTS.acquireLock.sha1, TIMED_LOCK_LUA.acquire],
  [SCRIPTS.extendLock.sha1, TIMED_LOCK_LUA.extend],
  [SCRIPTS.releaseLock.sha1, TIMED_LOCK_LUA.release],
  [SCRIPTS.isLockFree.sha1, SCRIPTS.isLockFree.lua],
  [SCRIPTS.locks.sha1, withTime(SCRIPTS.locks.lua)],
]);

/** `opened` is to be closed after each test. */
export function redisLockStore(redis: () => Redis, opened: RedisLocks[]): LockBenchStore {
  const readings = new StoreReadings();
  const prefix = `${randomUUID()}:`;
  const keyOf = (name: string) => `${prefix}{${name}}:locks`;
  const changed = (from: string, to: string) => copied(redis(), from, to);
  return {
    clockControl: readings.control,
    createStore(name) {
      const store = new RedisLocks({
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
