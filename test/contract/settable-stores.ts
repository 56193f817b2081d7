/**
 * Stores whose clock and losses a test sets: the common parts of the stores for worker IDs,
 * counters, and locks (memory, rows, Redis, SQL), and the worker-ID stores.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import type { MemoryRegistry } from '../models/memory-registry.js';
import { RedisSupport } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import type { SqlParameter, SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import type { HarnessParts } from '../../lib/testing/index.js';
import { MapStore } from '../registry/walk-store.js';
import {
  copied,
  LOSS_WINDOW_MS,
  StoreReadings,
  timed,
  timedClient,
  withTime,
} from '../stores/timed-redis.js';

/** The operations of a test on a store's data, by name. */
interface Data {
  wipe(name: string): void | Promise<void>;
  remember(name: string): void | Promise<void>;
  /** Replaces the data by the copy. */
  restore(name: string): void | Promise<void>;
}

export function controlsOf(readings: StoreReadings, data: Data) {
  return {
    clockControl: readings.control,
    lossControl: {
      wipe: (name: string) => data.wipe(name),
      restart: (name: string) => readings.changeServer(name),
      remember: (name: string) => data.remember(name),
      async restore(name: string): Promise<void> {
        await data.restore(name);
        readings.changeServer(name);
      },
    },
  };
}

/** Data with copies, each under its own key. */
function copiedData(
  placeOf: (name: string) => string,
  wipe: (place: string) => Promise<void>,
  copy: (from: string, to: string) => Promise<void>,
): Data {
  return {
    wipe: (name) => wipe(placeOf(name)),
    remember: (name) => copy(placeOf(name), `${placeOf(name)}:kept`),
    restore: (name) => copy(`${placeOf(name)}:kept`, placeOf(name)),
  };
}

/** Objects of one class by name, with all their data in `state`. */
export class StatesByName<T extends { state: unknown }> implements Data {
  private readonly objects = new Map<string, T>();
  private readonly kept = new Map<string, T['state']>();

  constructor(private readonly make: new () => T) {}

  of(name: string): T {
    if (!this.objects.has(name)) this.objects.set(name, new this.make());
    return this.objects.get(name)!;
  }

  wipe(name: string): void {
    this.of(name).state = undefined;
  }

  remember(name: string): void {
    this.kept.set(name, structuredClone(this.of(name).state));
  }

  restore(name: string): void {
    this.of(name).state = structuredClone(this.kept.get(name));
  }
}

/** Rows in Maps by name. Each store object represents another process on the same rows. */
export class RowsByName implements Data {
  private readonly stores = new Map<string, MapStore>();
  private readonly kept = new Map<string, MapStore['rows']>();

  constructor(
    private readonly readings: StoreReadings,
    private readonly lossWindowMs = LOSS_WINDOW_MS,
  ) {}

  of(name: string): MapStore {
    const made = () => new MapStore(() => this.readings.of(name), this.lossWindowMs);
    if (!this.stores.has(name)) this.stores.set(name, made());
    return this.stores.get(name)!;
  }

  wipe(name: string): void {
    this.of(name).rows.clear();
  }

  remember(name: string): void {
    this.kept.set(name, structuredClone(this.of(name).rows));
  }

  restore(name: string): void {
    this.of(name).rows = structuredClone(this.kept.get(name)!);
  }
}

/**
 * The library's data in Redis, one key per name, by a client that passes time and server to
 * scripts.
 *
 * @param texts of scripts that take time and server, by the hash of the original script
 */
export function settableRedis(
  redis: () => Redis,
  kind: 'registry' | 'counters' | 'locks',
  texts: ReadonlyMap<string, string>,
) {
  const readings = new StoreReadings();
  const prefix = `${randomUUID()}:`;
  const keyOf = (name: string) => `${prefix}{${name}}:${kind}`;
  const data = copiedData(
    keyOf,
    async (key) => void (await redis().del(key)),
    (from, to) => copied(redis(), from, to),
  );
  return {
    keyOf,
    controls: controlsOf(readings, data),
    optionsOf: (namespace: string) => ({
      redis: timedClient(redis(), texts, () => readings.of(namespace)),
      namespace,
      prefix,
    }),
  };
}

/** A database whose time and server are replaced in each statement. */
export interface SettableSql {
  readonly query: () => SqlQuery;
  /** The expressions for time and server in statements. */
  readonly time: string;
  readonly server: string;
  /** Placeholders in statements that the test itself sends. */
  readonly mark: (number: number) => string;
}

/** The columns of its table, with one namespace per name. */
const COLUMNS = 'kind, name, version, number, token, data';

export function settableSql(
  { query, time, server, mark }: SettableSql,
  { table }: { readonly table: string },
) {
  const readings = new StoreReadings();
  const run = randomUUID().slice(0, 8);
  const namespaceOf = (name: string) => `${run}/${name}`.replaceAll(' ', '_').slice(0, 120);
  const ask = (sql: string, params: SqlParameter[]): Promise<unknown> => {
    let number = 0;
    return query()(
      sql.replaceAll('?', () => mark(++number)),
      params,
    );
  };
  const wipe = async (space: string) =>
    void (await ask(`DELETE FROM ${table} WHERE namespace = ?`, [space]));
  const copy = async (from: string, to: string) => {
    await wipe(to);
    await ask(
      `INSERT INTO ${table} (namespace, ${COLUMNS}) ` +
        `SELECT kept.namespace, ${COLUMNS} FROM (SELECT ? AS namespace) kept, ` +
        `(SELECT ${COLUMNS} FROM ${table} WHERE namespace = ?) rows_of`,
      [to, from],
    );
  };
  return {
    ask,
    namespaceOf,
    controls: controlsOf(readings, copiedData(namespaceOf, wipe, copy)),
    queryOf:
      (name: string): SqlQuery =>
      (sql, params) => {
        const now = readings.of(name);
        const timed = sql.replaceAll(time, String(now.timeMs));
        return query()(timed.replaceAll(server, `'${now.server}'`), params);
      },
    optionsOf: (name: string) => ({
      namespace: namespaceOf(name),
      table,
      failoverWindowMs: LOSS_WINDOW_MS,
      clockDifferenceMs: 0,
    }),
  };
}

type Store = Omit<HarnessParts, 'expect'>;

/** The registry in memory, of any class, since mutants have their own class. */
export function memoryStore(Registry: new () => MemoryRegistry): Store {
  const readings = new StoreReadings();
  const registries = new StatesByName(Registry);
  const of = (name: string) => registries.of(name);
  return {
    ...controlsOf(readings, registries),
    createSupport: (name): IDistributedSupport => ({
      lossWindowMs: LOSS_WINDOW_MS,
      getNextWorkId: async (request) => of(name).acquire(request, readings.of(name)),
      refreshAlive: async (lease) => of(name).renew(lease, readings.of(name)),
      release: async (lease, lastMs) => of(name).release(lease, lastMs, readings.of(name)),
      workers: async () => of(name).workers(readings.clock.now()),
    }),
    versionControl: {
      raise: (name) => void (of(name).state!.version = '3'),
      lower: (name) => void (of(name).state!.version = '2'),
    },
  };
}

/** Rows in a Map, under a support that a test creates on them. */
export function mapStore<T>(supportOf: (store: MapStore) => T) {
  const readings = new StoreReadings();
  const stores = new RowsByName(readings);
  const setVersion = (name: string, version: string) => {
    const { rows } = stores.of(name);
    const header = rows.get(HEADER_KEY)!;
    rows.set(HEADER_KEY, {
      ...header,
      text: JSON.stringify({ ...JSON.parse(header.text), version }),
    });
  };
  return {
    ...controlsOf(readings, stores),
    createSupport: (name: string): T => supportOf(stores.of(name)),
    versionControl: {
      raise: (name: string) => setVersion(name, '3'),
      lower: (name: string) => setVersion(name, '2'),
    },
  };
}

/** The Redis support with its client; close `opened` after each test. */
export function redisStore(redis: () => Redis, opened: RedisSupport[]): Store {
  const { keyOf, controls, optionsOf } = settableRedis(redis, 'registry', TIMED_ROWS);
  return {
    ...controls,
    createSupport(name) {
      const support = new RedisSupport({ ...optionsOf(name), failoverWindowMs: LOSS_WINDOW_MS });
      opened.push(support);
      return support;
    },
    versionControl: {
      raise: async (name) => void (await redis().hset(keyOf(name), 'version', '3')),
      lower: async (name) => void (await redis().hset(keyOf(name), 'version', '2')),
    },
  };
}

/** The scripts with time and server, by the hash of the original script. */
export const TIMED_ROWS = new Map<string, string>([
  [SCRIPTS.readRows.sha1, timed(SCRIPTS.readRows.lua)],
  [SCRIPTS.writeRows.sha1, timed(SCRIPTS.writeRows.lua)],
  [SCRIPTS.pageOfRows.sha1, withTime(SCRIPTS.pageOfRows.lua)],
]);

interface SettableSqlSupport extends SettableSql {
  readonly table: string;
  support(query: SqlQuery, options: object): IDistributedSupport;
}

/** The unmodified support on a table. */
export function sqlStore(sql: SettableSqlSupport): Store {
  const { table } = sql;
  const { ask, namespaceOf, controls, queryOf, optionsOf } = settableSql(sql, { table });
  const setVersion = async (name: string, from: string, to: string): Promise<void> => {
    // Like every writer of a row, increases its version.
    await ask(
      `UPDATE ${table} SET version = version + 1, data = replace(data, ?, ?) ` +
        `WHERE namespace = ? AND name = '|'`,
      [`"version":"${from}"`, `"version":"${to}"`, namespaceOf(name)],
    );
  };
  return {
    ...controls,
    createSupport: (name) => sql.support(queryOf(name), optionsOf(name)),
    versionControl: {
      raise: (name) => setVersion(name, '2', '3'),
      lower: (name) => setVersion(name, '3', '2'),
    },
  };
}
