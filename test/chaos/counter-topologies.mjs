/**
 * The append-only file of a Redis with counters is switched off, or off and on again. Redis then
 * ends without notice, and restarts with the content of the file.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  storeFault,
  forgetGrants,
  NETWORK_FAULTS,
  isRemoved,
  ran,
  NEWCOMER_FIRST,
  SURVIVORS_FIRST,
  THERE_AND_BACK,
  until,
} from './fault.mjs';
import { FAULTS, OPERATOR_FAULTS } from './faults.mjs';
import { highestNumber } from './processes/highest-number.mjs';
import { Etcd, ETCD_FAULTS } from './stores/etcd.mjs';
import { Sqlite, SQLITE_FAULTS } from './stores/files.mjs';
import { CREATE_MARIADB, Mariadb, MARIADB_FAULTS } from './stores/mariadb.mjs';
import {
  CREATE,
  TABLE,
  Postgres,
  POSTGRES_FAULTS,
  ofLedBack,
  PostgresStandby,
  STANDBY_FAULTS,
} from './stores/postgres.mjs';
import { FILE_COPIED_OVER, KEY_PUT_BACK, ofPutBack } from './stores/stores.mjs';
import { KeptRedis, Cluster, NAMESPACE, Sentinel } from './topologies.mjs';
import { ALLOWED, ofUntold } from './untold-topologies.mjs';

const STEP = 100;
const LOSS_GAP_MIN = 1000;
const FEW = { stepMin: STEP, stepMax: STEP, lossGap: LOSS_GAP_MIN };
/** More than the jump after a loss covers. */
const GRANT_COUNT = LOSS_GAP_MIN / STEP + 2;

/** The delay of a rewrite for each key: longer than the wait for grants. */
const KEY_SAVE_US = 12_000_000;

/**
 * From the change on, grants may stop. The fault counts in either case.
 * @param {any} topology @param {import('./fault.mjs').World} world
 * @param {(set: (name: string, value: string) => Promise<unknown>) => unknown} change
 */
async function forgotten({ node }, world, change) {
  const set = (/** @type {string} */ name, /** @type {string} */ value) =>
    node.admin.config('SET', name, value);
  await forgetGrants(world, {
    grantCount: GRANT_COUNT,
    keep: () => change(set),
    async forget() {
      await node.kill();
      await node.start();
    },
  });
}

const FILE_FAULTS = [
  storeFault('append-only file switched off, then kill -9', (topology, world) =>
    forgotten(topology, world, (set) => set('appendonly', 'no')),
  ),
  storeFault('kill -9 in the first rewrite of that file', (topology, world) =>
    forgotten(topology, world, async (set) => {
      await set('rdb-key-save-delay', String(KEY_SAVE_US));
      await set('appendonly', 'no');
      await set('appendonly', 'yes');
    }),
  ),
];

// Counters under attack, named as in `npm run chaos -- --counters`. They use the servers of the
// registry, with the faults that matter to numbers.

/** @typedef {{ app: string, files: string }} Place of the library, and of the records */

const COUNTER = 'order';
const CLI = 'node_modules/nestjs-snowflake/dist/esm/cli/main.js';

/** Small steps: a buffer lasts a moment, and segments change hands all the time. */
const STEPS = { counter: COUNTER, lastsMs: 1000, stepMin: 100, stepMax: 500 };
/** Double the numbers of four processes at some 1,500 a second in a window of 4 s. */
const LOSS_GAP = 50_000;
/** How long a replaced server may continue. */
const WINDOW_MS = 4000;
/** How long a primary continues after its standby is cut off. */
const CUT_OFF_MS = 1500;

/** @type {import('./fault.mjs').Pace} */
const PACE = {
  processCount: 4,
  workerBits: 0,
  callTimeoutMs: 1000,
  pauseMs: { process: 800, store: 300 },
  grantMs: 30_000,
};

const settingsOf = (/** @type {object} */ store, hasTable = false, terms = {}) => ({
  CHAOS_STORE: JSON.stringify({ namespace: NAMESPACE, ...store }),
  // JSON has no bigint.
  CHAOS_SEGMENTS: JSON.stringify({ ...STEPS, lossGap: LOSS_GAP, hasTable, ...terms }),
});

const shared = (/** @type {string[]} */ ...names) =>
  [...FAULTS, ...POSTGRES_FAULTS, ...MARIADB_FAULTS, ...ETCD_FAULTS].filter(({ name }) =>
    names.includes(name),
  );

/** Faults of a Redis server that keeps its data. */
const OF_A_SERVER = ['redis SIGSTOP', 'CLIENT PAUSE', 'CLIENT KILL', 'DEBUG SLEEP', 'maxmemory'];

const REDIS_FAULTS = [
  storeFault('redis with an older append-only file', (topology, world) =>
    forgetGrants(world, { keep: () => topology.keep(), forget: () => topology.putBack() }),
  ),
  storeFault('redis with that file twice', (topology, world) =>
    forgetGrants(world, {
      keep: () => topology.keep(),
      forget: () => topology.putBack(),
      asked: () => topology.asked(),
    }),
  ),
  storeFault('FLUSHALL, then a counter created', (topology, world) =>
    forgetGrants(world, { keep: () => undefined, forget: () => topology.flush(world) }),
  ),
];

const SENTINEL_FAULTS = [
  storeFault('sentinel failover without the last segments', (topology, world) =>
    forgetGrants(world, { keep: () => topology.cut(), forget: () => topology.takeOver() }),
  ),
  storeFault('FLUSHALL, then begun above the table', ({ node }) => node.admin.flushall()),
];

const TAKEN_OVER = storeFault('cluster takeover without the last segments', (topology, world) =>
  forgetGrants(world, { keep: () => topology.cut(), forget: () => topology.takeOver() }),
);

const DELETED = storeFault('counters deleted, then begun above the table', ({ node }) =>
  isRemoved(async () => {
    const rows = await node.sql(`DELETE FROM ${TABLE} RETURNING 1`);
    return rows.length;
  }),
);

/** IDs made in Redis need no setup. */
const FLUSHED = storeFault('FLUSHALL, after which ids go on', ({ node }) => node.admin.flushall());

class Redis extends KeptRedis {
  worker = 'number-worker.mjs';
  grants = 'segments';
  name = 'counters in redis';
  pace = PACE;
  settings = settingsOf({});
  forgetful = forgetGrants;
  faults = [
    ...shared('redis restarted with data', ...OF_A_SERVER),
    ...REDIS_FAULTS,
    ...OPERATOR_FAULTS,
    ...NETWORK_FAULTS,
  ];
  /** @type {string[]} */
  breaches = [];

  /** @param {Place} place */
  async start(location) {
    this.location = location;
    const url = await super.start();
    await this.create();
    return url;
  }

  /** Creates the counter as an operator does: above all numbers in the table and in buffers. */
  async create() {
    const { app, files } = /** @type {Place} */ (this.location);
    const highest = highestNumber(files);
    const start = highest === undefined ? '1' : String(highest + BigInt(LOSS_GAP));
    const url = this.urlOf(this.node.port);
    const args = ['counters', 'create', COUNTER, '--start', start, '--yes', '--support', url];
    await ran(process.execPath, [join(app, CLI), ...args]);
  }

  /** @param {import('./fault.mjs').World} world */
  async flush({ fleet, random }) {
    await this.node.admin.flushall();
    const before = this.refusedCount();
    fleet.any(random)?.kill('SIGKILL');
    const isBegun = async () => (await this.node.admin.exists(this.key)) === 1;
    await until(async () => this.refusedCount() > before || (await isBegun()), 20_000);
    if (await isBegun()) this.breaches.push('A counter that was flushed began anew by itself.');
    else await this.create();
  }

  /** How many processes ended without a counter. */
  refusedCount() {
    const { files } = /** @type {Place} */ (this.location);
    const logs = readdirSync(files).filter((name) => name.endsWith('.log'));
    return logs.filter((name) => readFileSync(join(files, name), 'utf8').includes('COUNTER_ABSENT'))
      .length;
  }
}

/** The loss gap is so small that a disabled file loses more. */
class RedisFile extends Redis {
  name = 'counters in redis, with or without its file';
  settings = settingsOf({}, false, FEW);
  faults = [...shared('redis restarted with data'), ...FILE_FAULTS];
}

/** Scripts cannot see which server runs them. The stated durability is true. */
class RedisUntold extends ofUntold(Redis) {
  name = 'counters in redis without INFO';
  settings = settingsOf({ keepsWrites: true });
  faults = [
    ...shared('redis restarted with data', 'redis SIGSTOP'),
    ...REDIS_FAULTS.slice(2),
    ALLOWED,
    ...NETWORK_FAULTS,
  ];
}

/** The stated durability is false, and the processes trust it. */
class RedisUntoldLost extends RedisUntold {
  name = 'counters in redis without INFO, which loses writes';
  faults = REDIS_FAULTS.slice(0, 1);
  toleratesTwice = true;
}

class RedisSentinel extends Sentinel {
  worker = 'number-worker.mjs';
  grants = 'segments';
  name = 'counters in redis by sentinel';
  pace = PACE;
  settings = settingsOf({ lossWindowMs: WINDOW_MS }, true);
  faults = [...SENTINEL_FAULTS, ...THERE_AND_BACK, ...shared('CLIENT PAUSE', 'CLIENT KILL')];
}

class RedisCluster extends Cluster {
  worker = 'number-worker.mjs';
  grants = 'segments';
  name = 'counters in redis by cluster';
  pace = PACE;
  content = 'counters';
  settings = settingsOf({ lossWindowMs: WINDOW_MS }, true);
  faults = [TAKEN_OVER, SURVIVORS_FIRST, ...shared('cluster slot moved', 'CLIENT KILL')];
}

/**
 * Both servers jump to the same place. The first process to ask has no response from either, so no
 * rule helps.
 */
class RedisClusterLedBack extends RedisCluster {
  faults = [NEWCOMER_FIRST];
  toleratesTwice = true;
}

class PostgresByStandby extends PostgresStandby {
  worker = 'number-worker.mjs';
  grants = 'segments';
  name = 'counters in postgres with a standby';
  create = CREATE;
  pace = { ...PACE, callTimeoutMs: 1500 };
  settings = settingsOf({ failoverWindowMs: WINDOW_MS - 500, clockDifferenceMs: 500 }, true);
  forgetful = forgetGrants;
  faults = [
    ...STANDBY_FAULTS,
    SURVIVORS_FIRST,
    ...shared('postgres kill -9', 'postgres SIGSTOP'),
    DELETED,
    ...NETWORK_FAULTS,
  ];
}

/** One server without a standby. @param {new (folder: string) => any} Server */
const ofTable = (Server, name, create, faults) =>
  class extends Server {
    worker = 'number-worker.mjs';
    grants = 'segments';
    name = `counters in ${name}`;
    create = create;
    table = TABLE;
    pace = { ...PACE, callTimeoutMs: 1500 };
    settings = settingsOf({ failoverWindowMs: WINDOW_MS - 500, clockDifferenceMs: 500 }, true);
    forgetful = forgetGrants;
    faults = [...shared(...faults.map((what) => `${name} ${what}`)), DELETED, ...NETWORK_FAULTS];
  };

/** Uses a URL. An operator may restore an older file, so this topology has a window as well. */
class SqliteCounters extends Sqlite {
  worker = 'number-worker.mjs';
  grants = 'segments';
  name = 'counters in sqlite';
  create = CREATE;
  table = TABLE;
  terms = `&failoverWindowMs=${WINDOW_MS}`;
  pace = PACE;
  settings = settingsOf({}, true);
  forgetful = forgetGrants;
  faults = SQLITE_FAULTS;
}

/** The window uses these clocks, which stay within the configured difference. */
class EtcdCounters extends Etcd {
  worker = 'number-worker.mjs';
  grants = 'segments';
  name = 'counters in etcd';
  pace = { ...PACE, callTimeoutMs: 1500 };
  settings = settingsOf({ failoverWindowMs: WINDOW_MS - 2000 }, true);
  forgetful = forgetGrants;
  faults = [
    ...shared('etcd leader killed', 'etcd leader SIGSTOP', 'etcd all members killed'),
    ...shared('etcd restored with the same token', 'etcd folders put back'),
    ...shared('etcd compacted', 'etcd settings changed', 'etcd keys deleted'),
    ...shared('etcd clock of a member wrong'),
    ...NETWORK_FAULTS,
  ];
}

const WHILE_IT_RUNS = ['settings changed', 'dump loaded while it runs', 'rights taken away'];
const OF_TABLES = ['kill -9', 'SIGSTOP', ...WHILE_IT_RUNS];
const OF_POSTGRES = [...OF_TABLES, 'backend killed', 'connections ended'];
const OF_MARIADB = [...OF_TABLES, 'flushes no more, killed', 'connections killed'];

/** Creates the tables of nestjs-snowflake/sql and of the rows that use the numbers. */
const CREATE_SERIES =
  `CREATE TABLE snowflake_series (series varchar(128) NOT NULL, period varchar(16) NOT NULL, ` +
  `next bigint NOT NULL, PRIMARY KEY (series, period)); CREATE TABLE invoice (number text)`;

/** Acknowledged data is on the disk of the primary alone. */
class Gapless extends PostgresStandby {
  worker = 'gapless-worker.mjs';
  grants = 'commits';
  name = 'a gapless series in postgres with an asynchronous standby';
  create = CREATE_SERIES;
  pace = { ...PACE, callTimeoutMs: 1500 };
  settings = {};
  toleratesTwice = true;
  faults = [
    ...STANDBY_FAULTS,
    ...shared('postgres kill -9', 'postgres SIGSTOP'),
    ...NETWORK_FAULTS,
  ];

  /** Every commit counts, so no moment is worse than another. */
  forgetful = async (_, { keep, forget }) => {
    await keep();
    await sleep(CUT_OFF_MS);
    await forget();
    return true;
  };
}

/** The commits of the new primary exist nowhere else, and clients fail back to the old one. */
class GaplessLedBack extends Gapless {
  name = 'a gapless series in postgres, led there and back';
  faults = [SURVIVORS_FIRST];
}

/** The standby has all acknowledged data as well. */
class GaplessSynchronous extends Gapless {
  name = 'a gapless series in postgres with a synchronous standby';
  toleratesTwice = false;

  async start() {
    const url = await super.start();
    // The standby needs this setting too: as the primary it gets a standby of its own.
    for (const node of this.nodes) {
      await node.sql(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
      await node.sql('SELECT pg_reload_conf()');
    }
    return url;
  }
}

/** Prefetched, so that a loss occurs while IDs are buffered. */
const IDS = {
  CHAOS_IDS: JSON.stringify({ tag: COUNTER, prefetch: { count: 500, staleMs: 1000 } }),
};
const OF_FILES = REDIS_FAULTS.slice(0, 2);

class RedisIds extends Redis {
  grants = 'grants of ids';
  name = 'ids made in redis';
  settings = { ...settingsOf({}), ...IDS };
  faults = [
    ...shared('redis restarted with data', ...OF_A_SERVER),
    ...OF_FILES,
    FLUSHED,
    ...OPERATOR_FAULTS,
    ...NETWORK_FAULTS,
  ];

  async create() {}
}

class RedisIdsUntold extends ofUntold(RedisIds) {
  name = 'ids made in redis without INFO';
  settings = { ...settingsOf({ keepsWrites: true }), ...IDS };
  faults = [
    ...shared('redis restarted with data', 'redis SIGSTOP'),
    ALLOWED,
    FLUSHED,
    ...NETWORK_FAULTS,
  ];
}

class RedisIdsBySentinel extends RedisSentinel {
  grants = 'grants of ids';
  name = 'ids made in redis by sentinel';
  settings = { ...settingsOf({ lossWindowMs: WINDOW_MS }), ...IDS };
  faults = [
    SENTINEL_FAULTS[0],
    FLUSHED,
    ...THERE_AND_BACK,
    ...shared('CLIENT PAUSE', 'CLIENT KILL'),
  ];
}

class RedisIdsByCluster extends RedisCluster {
  grants = 'grants of ids';
  name = 'ids made in redis by cluster';
  settings = { ...settingsOf({ lossWindowMs: WINDOW_MS }), ...IDS };
  faults = [TAKEN_OVER, ...THERE_AND_BACK, ...shared('cluster slot moved', 'CLIENT KILL')];
}

/** @type {Record<string, new (folder: string) => any>} */
export const COUNTERS = {
  redis: Redis,
  'redis-file': RedisFile,
  untold: RedisUntold,
  'untold-lost': RedisUntoldLost,
  sentinel: RedisSentinel,
  cluster: RedisCluster,
  'cluster-led-back': RedisClusterLedBack,
  ids: RedisIds,
  'ids-untold': RedisIdsUntold,
  'ids-by-sentinel': RedisIdsBySentinel,
  'ids-by-cluster': RedisIdsByCluster,
  'redis-put-back': ofPutBack(Redis, KEY_PUT_BACK),
  'ids-put-back': ofPutBack(RedisIds, KEY_PUT_BACK),
  etcd: EtcdCounters,
  sqlite: SqliteCounters,
  'sqlite-copied-over': ofPutBack(SqliteCounters, FILE_COPIED_OVER),
  postgres: ofTable(Postgres, 'postgres', CREATE, OF_POSTGRES),
  mariadb: ofTable(Mariadb, 'mariadb', CREATE_MARIADB, OF_MARIADB),
  'postgres-standby': PostgresByStandby,
  'postgres-led-back': ofLedBack(PostgresByStandby),
  gapless: GaplessSynchronous,
  'gapless-asynchronous': Gapless,
  'gapless-led-back': GaplessLedBack,
};
