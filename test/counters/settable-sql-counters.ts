/**
 * Counters in a database under the contract suite, with the time and the server in the hands of the
 * test: the store as it is, on a query function that replaces both in each statement.
 */
import { randomUUID } from 'node:crypto';
import type { SqlParameter, SqlQuery } from '../../lib/stores/sql/sql-query.js';
import type { CounterStore } from '../../lib/counters/counter-store.js';
import { LOSS_WINDOW_MS, StoreReadings } from '../stores/store-readings.js';
import type { CounterBenchStore } from './settable-counters.js';

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
