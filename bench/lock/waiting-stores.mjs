// The stores of the benchmarks of waiting and of capacity: how each is started, and how a process
// holds a lock in it.
//
// Guarantee: each process has connections of its own; pg_advisory_lock and GET_LOCK are held as
// their documentation says, by a connection that does nothing else. Beside them stands the least
// that a lock with a token does that survives a crash: one row, written when it is taken and when
// it is given back, and a bell.
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

/** So often a process has had a lock before it is measured: its code is compiled by then. */
const WARM_COUNT = 500;

async function ours(/** @type {import('nestjs-snowflake/lock').LockStore} */ store, terms = {}) {
  const { DistributedLock } = await importLock();
  const locks = new DistributedLock(store, { ttlMs: 3000, drainMs: 0, ...terms });
  const using = (lock, run) => locks.using(lock, { waitMs: WAIT_MS }, run);
  // A store without data may have lost it: the first lock ever is waited for.
  for (let count = 0; count < WARM_COUNT; count++) {
    await using(`first:${process.pid}`, async () => undefined);
  }
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

async function rowAndNotify(url) {
  const [client, listener] = [0, 1].map(() => new pg.Client({ connectionString: url }));
  await Promise.all([client.connect(), listener.connect()]);
  let ring = () => undefined;
  listener.on('notification', () => ring());
  await listener.query('LISTEN bell');
  const take = "UPDATE least SET token = token + 1, holder = $1 WHERE id = 7 AND holder = ''";
  const give =
    "WITH given AS (UPDATE least SET holder = '' WHERE id = 7 AND holder = $1 AND " +
    "set_config('synchronous_commit', 'off', true) = 'off' RETURNING 1) " +
    "SELECT pg_notify('bell', '') FROM given";
  const values = [String(process.pid)];
  return async (_lock, run) => {
    for (;;) {
      const rung = new Promise((resolve) => (ring = () => resolve(undefined)));
      if ((await client.query({ name: 'take', text: take, values })).rowCount === 1) break;
      await rung;
    }
    await run();
    await client.query({ name: 'give', text: give, values });
  };
}

async function rowAndGetLock(url) {
  const [client, bell] = await Promise.all([createConnection(url), createConnection(url)]);
  const who = [String(process.pid)];
  return async (_lock, run) => {
    await bell.execute("SELECT GET_LOCK('bell', 120)");
    await client.execute(
      "UPDATE least SET token = token + 1, holder = ? WHERE id = 7 AND holder = ''",
      who,
    );
    await run();
    await client.execute("UPDATE least SET holder = '' WHERE id = 7 AND holder = ?", who);
    await bell.execute("SELECT RELEASE_LOCK('bell')");
  };
}

const LEAST = [
  'CREATE TABLE least (id int PRIMARY KEY, token bigint, holder varchar(20))',
  "INSERT INTO least VALUES (7, 1, '')",
];

async function postgresTable(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const sql of [(await importSql()).registryTable('postgres'), ...LEAST])
    await client.query(sql);
  await client.end();
}

async function mysqlTable(url) {
  const client = await createConnection(url);
  for (const sql of [(await importSql()).registryTable('mysql'), ...LEAST]) await client.query(sql);
  await client.end();
}

const NOTHING = async () => undefined;

/** A server that waits for its disk, as one whose commits survive a crash of its host. */
const onDisk = () => startPostgres(['fsync=on']);
const [ON_DISK, BY_HAND] = [', its disk waited for', 'a row and a bell by hand'];

const inRedis = async (url, terms) => ours((await importRedis()).redisLocks({ redis: url }), terms);
const inSql = async (url, terms) =>
  ours((await importSql()).sqlLocks({ url: `${url}?replicated=false` }), terms);
const inEtcd = async (url, terms) => ours((await importEtcd()).etcdLocks({ url }), terms);

/** Of this library, each in a server without replicas. */
export const OURS = [
  { name: bold('Redis'), start: startRedis, prepare: NOTHING, open: inRedis },
  { name: bold('PostgreSQL'), start: startPostgres, prepare: postgresTable, open: inSql },
  { name: bold('MariaDB'), start: startMariadb, prepare: mysqlTable, open: inSql },
  { name: bold('etcd'), start: startEtcd, prepare: NOTHING, open: inEtcd },
];

const POSTGRES = [
  { name: 'pg_advisory_lock', start: startPostgres, prepare: NOTHING, open: advisory },
  {
    name: `PostgreSQL, ${BY_HAND}`,
    start: startPostgres,
    prepare: postgresTable,
    open: rowAndNotify,
    isBrief: true,
  },
];
const MARIADB = [
  { name: 'GET_LOCK of MariaDB', start: startMariadb, prepare: NOTHING, open: getLock },
  {
    name: `MariaDB, ${BY_HAND}`,
    start: startMariadb,
    prepare: mysqlTable,
    open: rowAndGetLock,
    isBrief: true,
  },
];

/** Those beside them; a brief one is not measured in how often each process gets it. */
export const STORES = [
  ...OURS,
  ...POSTGRES,
  ...MARIADB,
  ...[OURS[1], ...POSTGRES].map((store) => {
    const name = `${store.name}${ON_DISK}`;
    return { ...store, name, start: onDisk, isBrief: true };
  }),
];
