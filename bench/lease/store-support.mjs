// The stores of the benchmark `stores`: how each is started, and how a client reaches it.
//
// Guarantee: every support is made by its public function, over as many connections as it says.
import { Pool } from 'pg';
import { createPool } from 'mysql2/promise';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { Redis } from 'ioredis';
import { importEtcd, importRedis, importSql } from '../harness/library.mjs';
import { infoNumber } from './server.mjs';

/** Time that a call waits for a connection counts, and here many share one. */
const REQUEST_TIMEOUT_MS = 30_000;

/** @typedef {keyof typeof STORES} StoreName */

const STORES = {
  Redis: {
    start: startRedis,
    prepare: async () => undefined,
    async support(url) {
      const { redisSupport } = await importRedis();
      return redisSupport({ redis: url });
    },
    async bytes(url) {
      const admin = new Redis(url);
      const bytes = await infoNumber(admin, 'memory', 'used_memory_dataset');
      admin.disconnect();
      return bytes;
    },
  },
  PostgreSQL: {
    start: startPostgres,
    async prepare(url) {
      const { registryTable } = await importSql();
      const pool = new Pool({ connectionString: url, max: 1 });
      await pool.query(registryTable('postgres'));
      await pool.end();
    },
    async support(url, connectionCount) {
      const { postgresSupport } = await importSql();
      const pool = new Pool({ connectionString: url, max: connectionCount });
      return postgresSupport({ pool, replicated: false });
    },
    async bytes(url) {
      const pool = new Pool({ connectionString: url, max: 1 });
      const sql = `SELECT pg_total_relation_size('snowflake_registry') AS bytes`;
      const { rows } = await pool.query(sql);
      await pool.end();
      return Number(rows[0].bytes);
    },
  },
  MariaDB: {
    start: startMariadb,
    async prepare(url) {
      const { registryTable } = await importSql();
      const pool = createPool({ uri: url, connectionLimit: 1 });
      await pool.query(registryTable('mysql'));
      await pool.end();
    },
    async support(url, connectionCount) {
      const { mysqlSupport } = await importSql();
      const pool = createPool({ uri: url, connectionLimit: connectionCount });
      return mysqlSupport({ pool, replicated: false });
    },
    async bytes(url) {
      const pool = createPool({ uri: url, connectionLimit: 1 });
      await pool.query('ANALYZE TABLE snowflake_registry');
      const [[{ bytes }]] = await pool.query(
        `SELECT data_length + index_length AS bytes FROM information_schema.tables
         WHERE table_schema = database() AND table_name = 'snowflake_registry'`,
      );
      await pool.end();
      return Number(bytes);
    },
  },
  etcd: {
    start: startEtcd,
    prepare: async () => undefined,
    async support(url) {
      const { etcdSupport } = await importEtcd();
      const endpoints = [url.replace('etcd:', 'http:')];
      return etcdSupport({ endpoints, requestTimeoutMs: REQUEST_TIMEOUT_MS });
    },
    /** With all its history, until it is compacted. */
    async bytes(url) {
      const status = new URL('/v3/maintenance/status', url.replace('etcd:', 'http:'));
      const answer = await fetch(status, { method: 'POST', body: '{}' });
      return Number((await answer.json()).dbSizeInUse);
    },
  },
};

export const STORE_NAMES = /** @type {StoreName[]} */ (Object.keys(STORES));

/**
 * @template T
 * @param {StoreName} name
 * @param {(server: { url: string, pid: number }) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withStore(name, use) {
  const store = STORES[name];
  const server = await store.start();
  try {
    await store.prepare(server.url);
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** What the registry takes in the store. @returns {Promise<number>} */
export function bytesOf(/** @type {StoreName} */ name, url) {
  return STORES[name].bytes(url);
}

/** @returns {Promise<import('nestjs-snowflake').IDistributedSupport>} */
export function supportOf(/** @type {StoreName} */ name, url, connectionCount) {
  return STORES[name].support(url, connectionCount);
}
