/**
 * Counters whose clock and losses a test sets: counters in memory or a mutant of them, under any
 * loss window, counters in SQL, and counters in Redis.
 */
import type { Redis } from 'ioredis';
import { checkNew, checkTake } from '../../lib/counters/counter-rules.js';
import { namedGrant, type CounterStore } from '../../lib/counters/counter-store.js';
import type { CounterMap } from '../models/counter-map.js';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import type { CounterHarnessParts } from '../../lib/testing/index.js';
import {
  controlsOf,
  settableRedis,
  settableSql,
  StatesByName,
  type SettableSql,
} from '../contract/settable-stores.js';
import { LOSS_WINDOW_MS, StoreReadings, timed, withTime } from '../stores/timed-redis.js';

export type SettableCounterStore = Omit<CounterHarnessParts, 'expect'>;

export function memoryCounterStore(
  Map_: new () => CounterMap,
  lossWindowMs = LOSS_WINDOW_MS,
): SettableCounterStore {
  const readings = new StoreReadings(lossWindowMs);
  const maps = new StatesByName(Map_);
  return {
    ...controlsOf(readings, maps),
    createStore: (name): CounterStore => ({
      lossWindowMs,
      async take(request) {
        checkTake(request);
        return maps.of(name).take(request, readings.of(name));
      },
      async giveBack(grant, unused) {
        const named = namedGrant(grant);
        if (named !== undefined) maps.of(name).giveBack(named, unused, readings.of(name));
      },
      async create(counter) {
        checkNew(counter);
        return maps.of(name).create(counter, readings.of(name));
      },
      counters: async () => maps.of(name).counters(readings.clock.now()),
    }),
  };
}

export const COUNTERS = 'contract_counters';

interface SettableSqlCounters extends SettableSql {
  store(query: SqlQuery, options: object): CounterStore;
}

/** The unmodified store on a table. */
export function sqlCounterStore(sql: SettableSqlCounters): SettableCounterStore {
  const { controls, queryOf, optionsOf } = settableSql(sql, { table: COUNTERS });
  return { ...controls, createStore: (name) => sql.store(queryOf(name), optionsOf(name)) };
}

/*
 * The Lua scripts on counters as the library runs them, but with time and server from the test.
 * Also the Redis counters that applications use, on a client that passes both.
 */

export const TIMED_COUNTER_LUA = {
  take: timed(SCRIPTS.takePositions.lua),
  giveBack: timed(SCRIPTS.giveBackPositions.lua),
  create: timed(SCRIPTS.createCounter.lua),
};

/** The scripts with time and server, by the hash of the original script. */
const TEXTS = new Map<string, string>([
  [SCRIPTS.takePositions.sha1, TIMED_COUNTER_LUA.take],
  [SCRIPTS.giveBackPositions.sha1, TIMED_COUNTER_LUA.giveBack],
  [SCRIPTS.createCounter.sha1, TIMED_COUNTER_LUA.create],
  [SCRIPTS.counters.sha1, withTime(SCRIPTS.counters.lua)],
]);

/** Close `opened` after each test. */
export function redisCounterStore(
  redis: () => Redis,
  opened: RedisCounters[],
): SettableCounterStore {
  const { controls, optionsOf } = settableRedis(redis, 'counters', TEXTS);
  return {
    ...controls,
    createStore(name) {
      const store = new RedisCounters({ ...optionsOf(name), lossWindowMs: LOSS_WINDOW_MS });
      opened.push(store);
      return store;
    },
  };
}
