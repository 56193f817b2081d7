/**
 * Counters whose clock and losses are in the hands of a test: those in memory, as they are or as a
 * mutant of them, under any loss window.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { checkNew, checkTake } from '../../lib/counters/counter-rules.js';
import { namedGrant, type CounterStore } from '../../lib/counters/counter-store.js';
import type { CounterMap, CounterState } from '../../lib/stores/memory/memory-counters.js';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import type { SqlParameter, SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import type { CounterHarnessParts } from '../../lib/testing/index.js';
import {
  copied,
  LOSS_WINDOW_MS,
  StoreReadings,
  timed,
  timedClient,
  withTime,
} from '../stores/timed-redis.js';
export type CounterBenchStore = Omit<CounterHarnessParts, 'expect'>;

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

/*
 * Counters in a database under the contract suite, with the time and the server in the hands of the
 * test: the store as it is, on a query function that replaces both in each statement.
 */

const COLUMNS = 'counter, version, next, data';
export const COUNTERS = 'contract_counters';

export interface SqlCounterBench {
  readonly query: () => SqlQuery;
  /** What stands in statements for time and server. */
  readonly time: string;
  readonly servers: readonly string[];
  /** Of values in statements that the test itself sends. */
  readonly mark: (number: number) => string;
  store(query: SqlQuery, options: object): CounterStore;
}

export function sqlCounterStore(harness: SqlCounterBench): CounterBenchStore {
  const readings = new StoreReadings();
  const run = randomUUID();
  const { query, time, servers, mark } = harness;
  const spaceOf = (name: string) => `${run}/${name}`;
  const told = (name: string): SqlQuery => {
    return (sql, params) => {
      const { timeMs, server } = readings.of(name);
      const timed = sql.replaceAll(time, String(timeMs));
      const changed = servers.reduce((text, one) => text.replaceAll(one, `'${server}'`), timed);
      return query()(changed, params);
    };
  };
  const ask = (sql: string, params: SqlParameter[]) => {
    let number = 0;
    const marked = sql.replaceAll('?', () => mark(++number));
    return query()(marked, params);
  };
  const wipe = async (space: string) =>
    void (await ask(`DELETE FROM ${COUNTERS} WHERE namespace = ?`, [space]));
  const copy = async (from: string, to: string) => {
    await wipe(to);
    await ask(
      `INSERT INTO ${COUNTERS} (namespace, ${COLUMNS}) ` +
        `SELECT kept.namespace, ${COLUMNS} FROM (SELECT ? AS namespace) kept, ` +
        `(SELECT ${COLUMNS} FROM ${COUNTERS} WHERE namespace = ?) counters_of`,
      [to, from],
    );
  };
  return {
    clockControl: readings.control,
    createStore: (name) =>
      harness.store(told(name), {
        namespace: spaceOf(name),
        table: COUNTERS,
        failoverWindowMs: LOSS_WINDOW_MS,
        clockDifferenceMs: 0,
      }),
    lossControl: {
      wipe: (name) => wipe(spaceOf(name)),
      restart: (name) => readings.changeServer(name),
      remember: (name) => copy(spaceOf(name), `${spaceOf(name)}:kept`),
      async restore(name) {
        await copy(`${spaceOf(name)}:kept`, spaceOf(name));
        readings.changeServer(name);
      },
    },
  };
}

/*
 * The Lua scripts on counters as the library runs them, but told time and server by the test; and
 * the Redis counters as applications use them, on a client that does so.
 */

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
