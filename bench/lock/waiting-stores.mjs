// The stores of the benchmark `waiting`: how each is started, and how a process holds a lock in it.
//
// Guarantee: each process has connections of its own; pg_advisory_lock and GET_LOCK are held as
// their documentation says, by a connection that does nothing else.
import pg from 'pg';
import { createConnection } from 'mysql2/promise';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { importEtcd, importLock, importRedis, importSql } from '../harness/library.mjs';
import { bold } from '../harness/figures.mjs';

/** Whoever has to wait longer than this waits in vain. */
const WAIT_MS = 120_000;

async function ours(/** @type {import('nestjs-snowflake/lock').LockStore} */ store) {
  const { DistributedLock } = await importLock();
  const locks = new DistributedLock(store, { ttlMs: 3000, drainMs: 0 });
  const using = (lock, run) => locks.using(lock, { waitMs: WAIT_MS }, run);
  // A store without data may have lost it: the first lock ever is waited for.
  await using(`first:${process.pid}`, async () => undefined);
  return using;
}

async function advisory(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return between(client, 'SELECT pg_advisory_lock(7)', 'SELECT pg_advisory_unlock(7)');
}

async function getLock(url) {
  const client = await createConnection(url);
  return between(client, "SELECT GET_LOCK('turns', 120)", "SELECT RELEASE_LOCK('turns')");
}

function between(client, take, give) {
  return async (_lock, run) => {
    await client.query(take);
    try {
      await run();
    } finally {
      await client.query(give);
    }
  };
}

async function postgresTable(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query((await importSql()).lockTable('postgres'));
  await client.end();
}

async function mysqlTable(url) {
  const client = await createConnection(url);
  await client.query((await importSql()).lockTable('mysql'));
  await client.end();
}

const NOTHING = async () => undefined;

export const STORES = [
  {
    name: bold('Redis'),
    start: startRedis,
    prepare: NOTHING,
    open: async (url) => ours((await importRedis()).redisLocks({ redis: url })),
  },
  {
    name: bold('PostgreSQL'),
    start: startPostgres,
    prepare: postgresTable,
    open: async (url) => ours((await importSql()).sqlLocks({ url: `${url}?replicated=false` })),
  },
  {
    name: bold('MariaDB'),
    start: startMariadb,
    prepare: mysqlTable,
    open: async (url) => ours((await importSql()).sqlLocks({ url: `${url}?replicated=false` })),
  },
  {
    name: bold('etcd'),
    start: startEtcd,
    prepare: NOTHING,
    open: async (url) => ours((await importEtcd()).etcdLocks({ url })),
  },
  { name: 'pg_advisory_lock', start: startPostgres, prepare: NOTHING, open: advisory },
  { name: 'GET_LOCK of MariaDB', start: startMariadb, prepare: NOTHING, open: getLock },
];
