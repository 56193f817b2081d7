// The stores of the benchmark `stores`: how each is started, and how a client reaches it.
//
// Guarantee: every support is made by its public function, over as many connections as it says.
import { Pool } from 'pg';
import { createPool } from 'mysql2/promise';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { importEtcd, importRedis, importSql } from '../harness/library.mjs';

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
  },
  etcd: {
    start: startEtcd,
    prepare: async () => undefined,
    async support(url) {
      const { etcdSupport } = await importEtcd();
      const endpoints = [url.replace('etcd:', 'http:')];
      return etcdSupport({ endpoints, requestTimeoutMs: REQUEST_TIMEOUT_MS });
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

/** @returns {Promise<import('nestjs-snowflake').IDistributedSupport>} */
export function supportOf(/** @type {StoreName} */ name, url, connectionCount) {
  return STORES[name].support(url, connectionCount);
}
