/**
 * Locks under attack, named as in `npm run chaos -- --locks`. They use the servers of the registry,
 * with the faults that matter to lock holders.
 */
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  forgetGrants,
  NETWORK_FAULTS,
  isRemoved,
  NEWCOMER_FIRST,
  storeFault,
  SURVIVORS_FIRST,
  THERE_AND_BACK,
  until,
} from './fault.mjs';
import { FAULTS, OPERATOR_FAULTS } from './faults.mjs';
import { Cluster, KeptRedis, NAMESPACE, Sentinel } from './topologies.mjs';
import { ALLOWED, ofUntold } from './untold-topologies.mjs';
import { Etcd, ETCD_FAULTS, ofOneMember } from './stores/etcd.mjs';
import { Sqlite, SQLITE_FAULTS } from './stores/files.mjs';
import { CREATE_MARIADB, Mariadb, MARIADB_FAULTS } from './stores/mariadb.mjs';
import {
  CREATE,
  TABLE,
  ofLedBack,
  PostgresStandby,
  STANDBY_FAULTS,
  Postgres,
  POSTGRES_FAULTS,
} from './stores/postgres.mjs';
import { FILE_COPIED_OVER, KEY_PUT_BACK, ofPutBack } from './stores/stores.mjs';
import { checkHolds, eventsOf } from './report.mjs';

const HEADER = `name = '|'`;
/** The first key in etcd after all that begin with this prefix. */
const [PREFIX, END] = [`snowflake/${NAMESPACE}/locks/`, `snowflake/${NAMESPACE}/locks0`];
/** How long a replaced server may continue. */
const WINDOW_MS = 4000;

const WORDS = {
  made: 'writes',
  twice: 'two holders of one lock or permit, or too many',
  back: 'tokens that fell',
  stretch: 'a lock',
  good: 'No lock or permit had two holders, and no token fell.',
};

/** @type {import('./fault.mjs').Pace} */
export const PACE = {
  processCount: 4,
  workerBits: 0,
  callTimeoutMs: 1000,
  pauseMs: { process: 800, store: 1000 },
  grantMs: 30_000,
};

/** Common parts of all topologies. @param {new (folder: string) => any} Server */
const ofLocks = (Server) =>
  class extends Server {
    worker = 'lock-worker.mjs';
    grants = 'grants';
    check = (/** @type {string} */ folder) => checkHolds(folder);
    words = WORDS;
    pace = PACE;
    least = { ids: 100, leases: 50 };
    forgetful = forgetGrants;
    /** @type {string[]} */
    breaches = [];

    /** Runs after the last fault. @param {import('./fleet.mjs').Fleet} fleet */
    async lastly(fleet) {
      this.breaches = await inVain(fleet);
    }
  };

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;
/** By then a paused process continues, and the quarantine after a loss is over. */
const SERVED_MS_MAX = 60_000;

/**
 * Waits until each process gets a permit and several locks again. Otherwise callers block each
 * other.
 * @param {import('./fleet.mjs').Fleet} fleet in which one stopped process may still be ending
 */
async function inVain({ members }) {
  const calmMs = monotonicMs();
  const isServed = (/** @type {import('./fleet.mjs').Member} */ { clockFile }) => {
    const events = eventsOf(clockFile.replace(/clock$/, 'events'));
    const holds = events.filter(({ kind, fromMs }) => kind === 'hold' && fromMs > calmMs);
    const isAny = (/** @type {(hold: any) => boolean} */ isSo) => holds.some((hold) => isSo(hold));
    return isAny(({ permits }) => permits > 1) && isAny(({ lockCount }) => lockCount > 1);
  };
  await until(async () => [...members].every(isServed), SERVED_MS_MAX).catch(() => undefined);
  return [...members]
    .filter((member) => !isServed(member))
    .map(({ clockFile }) => `${basename(clockFile, '.clock')} waits in vain for its locks`);
}

/** Common parts of the topologies with a table. @param {new (folder: string) => any} Server */
const ofTable = (Server) =>
  class extends ofLocks(Server) {
    table = TABLE;

    keep() {
      return this.node.backup();
    }

    putBack() {
      return this.node.restore();
    }

    /** The count of rows before. */
    async deletedCount(/** @type {boolean} */ isHeaderOnly) {
      const where = isHeaderOnly ? HEADER : 'true';
      return (await this.node.sql(`DELETE FROM ${TABLE} WHERE ${where} RETURNING 1`)).length;
    }
  };

export const shared = (/** @type {string[]} */ ...names) =>
  [...FAULTS, ...POSTGRES_FAULTS, ...MARIADB_FAULTS, ...ETCD_FAULTS].filter(({ name }) =>
    names.includes(name),
  );

/** The holders are paused, and the first call comes from a process that never got a lock. */
export const OLD_COPY = storeFault('locks from an old copy', (topology, world) =>
  forgetGrants(world, { keep: () => topology.keep(), forget: () => topology.putBack() }),
);
const FOLDERS_BACK = storeFault('folders of locks put back', ({ cluster }, world) =>
  forgetGrants(world, { keep: () => cluster.copyFolders(), forget: () => cluster.restore() }),
);
export const FAILED_OVER = storeFault(
  'sentinel failover without the last locks',
  (topology, world) =>
    forgetGrants(world, { keep: () => topology.cut(), forget: () => topology.takeOver() }),
);
const TAKEN_OVER = storeFault('cluster takeover without the last locks', (topology, world) =>
  forgetGrants(world, { keep: () => topology.cut(), forget: () => topology.takeOver() }),
);
export const DELETED = storeFault('locks deleted', (topology) =>
  isRemoved(() => topology.deletedCount(false)),
);
const HEADER_DELETED = storeFault('header of locks deleted', (topology) =>
  isRemoved(() => topology.deletedCount(true)),
);
export const TABLE_CREATED = storeFault(
  'table of locks created again',
  async ({ node, create }) => {
    await node.sql(`DROP TABLE ${TABLE}`);
    await sleep(500);
    await node.sql(create);
  },
);

const OF_TABLES = [OLD_COPY, DELETED, HEADER_DELETED, TABLE_CREATED];

export class Redis extends ofLocks(KeptRedis) {
  name = 'locks in redis';
  content = 'locks';
  /** Writes to disk before it answers. */
  settings = { CHAOS_QUERY: `namespace=${NAMESPACE}&lossWindowMs=500` };
  faults = [
    ...shared('redis restarted with data', 'redis restarted empty', 'FLUSHALL'),
    ...shared('redis SIGSTOP', 'CLIENT PAUSE', 'CLIENT KILL', 'DEBUG SLEEP', 'maxmemory'),
    ...OPERATOR_FAULTS,
    OLD_COPY,
    DELETED,
    HEADER_DELETED,
    ...NETWORK_FAULTS,
  ];

  /** The count of fields before. */
  async deletedCount(/** @type {boolean} */ isHeaderOnly) {
    const { admin } = this.node;
    const fields = await admin.hkeys(this.key);
    if (!isHeaderOnly) return admin.del(this.key);
    const header = fields.filter((name) => !name.startsWith('l:'));
    return header.length === 0 ? 0 : admin.hdel(this.key, ...header);
  }
}

/** Scripts cannot see which server runs them. The stated durability is true. */
class RedisUntold extends ofUntold(Redis) {
  name = 'locks in redis without INFO';
  settings = { CHAOS_QUERY: `namespace=${NAMESPACE}&lossWindowMs=500&keepsWrites=true` };
  faults = [
    ...shared('redis restarted with data', 'redis restarted empty', 'FLUSHALL'),
    ...shared('redis SIGSTOP', 'CLIENT PAUSE', 'CLIENT KILL', 'maxmemory'),
    ALLOWED,
    DELETED,
    ...NETWORK_FAULTS,
  ];
}

/** The stated durability is false, and the processes trust it. */
class RedisUntoldLost extends RedisUntold {
  name = 'locks in redis without INFO, which loses writes';
  faults = [OLD_COPY];
  toleratesTwice = true;
}

export class RedisBySentinel extends ofLocks(Sentinel) {
  name = 'locks in redis by sentinel';
  settings = { CHAOS_QUERY: `namespace=${NAMESPACE}&lossWindowMs=${WINDOW_MS}` };
  faults = [FAILED_OVER, ...THERE_AND_BACK, ...shared('FLUSHALL', 'CLIENT PAUSE', 'CLIENT KILL')];
}

class RedisByCluster extends ofLocks(Cluster) {
  name = 'locks in redis by cluster';
  content = 'locks';
  settings = { CHAOS_QUERY: `namespace=${NAMESPACE}&lossWindowMs=${WINDOW_MS}` };
  faults = [
    TAKEN_OVER,
    SURVIVORS_FIRST,
    ...shared('cluster slot moved', 'CLIENT PAUSE', 'CLIENT KILL'),
  ];
}

/** The first process to ask has no response from either server, so no rule helps. */
class RedisByClusterLedBack extends RedisByCluster {
  faults = [NEWCOMER_FIRST];
  toleratesTwice = true;
}

/** The store answers a release before it is on disk. */
const losesReleases = (/** @type {string} */ folder) => checkHolds(folder, true);

export class PostgresLocks extends ofTable(Postgres) {
  name = 'locks in postgres';
  create = CREATE;
  check = losesReleases;
  faults = [
    ...shared('postgres kill -9', 'postgres SIGSTOP', 'postgres backend killed'),
    ...shared('postgres connections ended', 'postgres rights taken away'),
    ...shared('postgres dump loaded while it runs', 'postgres settings changed'),
    ...OF_TABLES,
    ...NETWORK_FAULTS,
  ];
}

export class StandbyLocks extends ofTable(PostgresStandby) {
  name = 'locks in postgres with a standby';
  create = CREATE;
  check = losesReleases;
  faults = [...STANDBY_FAULTS, SURVIVORS_FIRST, ...NETWORK_FAULTS];
}

export class MariadbLocks extends ofTable(Mariadb) {
  name = 'locks in mariadb';
  create = CREATE_MARIADB;
  faults = [
    ...shared('mariadb kill -9', 'mariadb SIGSTOP', 'mariadb connections killed'),
    ...shared('mariadb rights taken away', 'mariadb dump loaded while it runs'),
    ...shared('mariadb settings changed', 'mariadb flushes no more, killed'),
    ...OF_TABLES,
    ...NETWORK_FAULTS,
  ];
}

export class EtcdLocks extends ofLocks(Etcd) {
  name = 'locks in etcd';
  faults = [
    ...shared('etcd leader killed', 'etcd leader SIGSTOP', 'etcd all members killed'),
    ...shared('etcd compacted', 'etcd settings changed', 'etcd clock of a member wrong'),
    OLD_COPY,
    FOLDERS_BACK,
    DELETED,
    HEADER_DELETED,
    ...NETWORK_FAULTS,
  ];

  keep() {
    return this.cluster.save();
  }

  putBack() {
    return this.cluster.restore();
  }

  deletedCount(/** @type {boolean} */ isHeaderOnly) {
    return isHeaderOnly
      ? this.cluster.deleted(`${PREFIX}header`)
      : this.cluster.deleted(PREFIX, END);
  }
}

export class SqliteLocks extends ofLocks(Sqlite) {
  name = 'locks in sqlite';
  create = CREATE;
  table = TABLE;
  faults = SQLITE_FAULTS;
}

/** @type {Record<string, new (folder: string) => any>} */
export const LOCKS = {
  redis: Redis,
  untold: RedisUntold,
  'untold-lost': RedisUntoldLost,
  sentinel: RedisBySentinel,
  cluster: RedisByCluster,
  'cluster-led-back': RedisByClusterLedBack,
  postgres: PostgresLocks,
  'postgres-standby': StandbyLocks,
  'postgres-led-back': ofLedBack(StandbyLocks),
  mariadb: MariadbLocks,
  etcd: EtcdLocks,
  'etcd-one': ofOneMember(EtcdLocks),
  sqlite: SqliteLocks,
  'sqlite-copied-over': ofPutBack(SqliteLocks, FILE_COPIED_OVER),
  'redis-put-back': ofPutBack(Redis, KEY_PUT_BACK),
};
