/**
 * Locks in a database under the contract suite, with the time and the server in the hands of the
 * test: the store as it is, on a query function that replaces both in each statement.
 */
import { randomUUID } from 'node:crypto';
import type { SqlParameter, SqlQuery } from '../../lib/stores/sql/sql-query.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { LOSS_WINDOW_MS, StoreReadings } from '../stores/store-readings.js';
import type { LockBenchStore } from './settable-locks.js';

const COLUMNS = 'lock_name, version, forgettable, data';
export const LOCKS = 'contract_locks';

export interface SqlLockBench {
  readonly query: () => SqlQuery;
  /** What stands in statements for time and server. */
  readonly time: string;
  readonly server: string;
  /** Of values in statements that the test itself sends. */
  readonly mark: (number: number) => string;
  store(query: SqlQuery, options: object): LockStore;
}

export function sqlLockStore(harness: SqlLockBench): LockBenchStore {
  const readings = new StoreReadings();
  const run = randomUUID();
  const { query, time, server, mark } = harness;
  const spaceOf = (name: string) => `${run}/${name}`;
  const told = (name: string): SqlQuery => {
    return (sql, params) => {
      const now = readings.of(name);
      const timed = sql.replaceAll(time, String(now.timeMs));
      return query()(timed.replaceAll(server, `'${now.server}'`), params);
    };
  };
  const ask = (sql: string, params: SqlParameter[]) => {
    let number = 0;
    const marked = sql.replaceAll('?', () => mark(++number));
    return query()(marked, params);
  };
  const wipe = async (space: string) =>
    void (await ask(`DELETE FROM ${LOCKS} WHERE namespace = ?`, [space]));
  const copy = async (from: string, to: string) => {
    await wipe(to);
    await ask(
      `INSERT INTO ${LOCKS} (namespace, ${COLUMNS}) ` +
        `SELECT kept.namespace, ${COLUMNS} FROM (SELECT ? AS namespace) kept, ` +
        `(SELECT ${COLUMNS} FROM ${LOCKS} WHERE namespace = ?) locks_of`,
      [to, from],
    );
  };
  return {
    clockControl: readings.control,
    createStore: (name) =>
      harness.store(told(name), {
        namespace: spaceOf(name),
        table: LOCKS,
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
