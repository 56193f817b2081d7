// The benchmark of a lock that nobody else wants: what it costs by the clock and by CPU.
//
// Guarantee: the ways of a store take turns on one server, each over connections of its own. The
// way by hand makes the promises of ours: a deadline by the clock of the store, a token that rises,
// a release by nobody else, which wakes those who wait, and in Redis a check of the server.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { bold, column, figure, median, times } from '../harness/figures.mjs';
import { importEtcd, importSql } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';
import { measuredCpu } from '../lease/server.mjs';
import { STORED_WAYS, holdingOf } from './ways.mjs';

const [WARM_MS, MEASURED_MS] = [400, 600];
/** CPU is counted in steps of 10 ms. */
const ROUNDS_MIN = 9;
const TERMS = { ttlMs: 3000, tries: 1000 };
const OURS = bold('nestjs-snowflake/lock');
const BY_HAND = 'by hand, with the same promises';

/**
 * @typedef {object} Alone
 * @property {string} name
 * @property {() => Promise<unknown>} run acquires and releases
 * @property {() => unknown} [close]
 */

const alone = (name, holding) => ({
  name,
  run: () => holding.using('alone', async () => undefined),
  close: holding.close,
});

/** @type {Record<string, { start: () => Promise<any>, open: (url: string) => Promise<Alone[]> }>} */
const STORES = {
  Redis: { start: startRedis, open: redisWays },
  PostgreSQL: { start: startPostgres, open: postgresWays },
  MariaDB: { start: startMariadb, open: mariadbWays },
  etcd: { start: startEtcd, open: etcdWays },
};

const ACQUIRE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local info = redis.call('INFO', 'server', 'replication')
local _, run = string.find(info, 'run_id:', 1, true)
local _, data = string.find(info, 'master_replid:', 1, true)
local server = string.sub(info, run + 1, run + 40) .. string.sub(info, data + 1, data + 40)
local known, ready, row = unpack(redis.call('HMGET', KEYS[1], 'server', 'ready', ARGV[1]))
if known ~= server then
  redis.call('HSET', KEYS[1], 'server', server, 'ready', now + 3000)
  return 0
end
if tonumber(ready) > now or row and tonumber(string.match(row, '^%d+')) > now then return 0 end
local token = string.format('%.0f', now * 4096)
local till = string.format('%.0f', now + ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], till .. '|' .. token .. '|' .. ARGV[2])
return token`;

const RELEASE = `
local row = redis.call('HGET', KEYS[1], ARGV[1])
if not row then return 0 end
local token, holder = string.match(row, '^%d+|(%d+)|(.*)$')
if holder ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '0|' .. token .. '|')
redis.call('PUBLISH', KEYS[2], '')
return 1`;

async function redisWays(url) {
  const redis = new Redis(url);
  redis.defineCommand('take', { numberOfKeys: 1, lua: ACQUIRE });
  redis.defineCommand('give', { numberOfKeys: 2, lua: RELEASE });
  const run = async () => {
    const holder = randomUUID();
    // A store without data may have lost it: the first lock ever is waited for.
    while ((await redis.take('locks', 'alone', holder, '3000')) === 0);
    await redis.give('locks', 'locks:alone', 'alone', holder);
  };
  const pings = async () => {
    await redis.ping();
    await redis.ping();
  };
  const packages = STORED_WAYS.map(async ({ name, open }) => alone(name, await open(url, TERMS)));
  return [
    ...(await Promise.all(packages)),
    { name: BY_HAND, run, close: () => redis.disconnect() },
    { name: 'two PINGs', run: pings },
  ];
}

const LEAST = 'CREATE TABLE least (name varchar(64) PRIMARY KEY, token bigint NOT NULL, holder ';

async function postgresWays(url) {
  const { registryTable, sqlLocks } = await importSql();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(registryTable('postgres'));
  await client.query(`${LEAST} text, till timestamptz NOT NULL)`);
  await client.query("INSERT INTO least VALUES ('alone', 1, NULL, now())");
  const take =
    'UPDATE least SET token = greatest(token + 1, (extract(epoch FROM clock_timestamp()) * ' +
    "4096000)::bigint), holder = $1, till = clock_timestamp() + interval '3 s' WHERE name = " +
    "'alone' AND (holder IS NULL OR till < clock_timestamp()) RETURNING token";
  const give =
    "WITH given AS (UPDATE least SET holder = NULL WHERE name = 'alone' AND holder = $1 AND " +
    "set_config('synchronous_commit', 'off', true) = 'off' RETURNING 1) " +
    "SELECT pg_notify('bell', '') FROM given";
  const run = async () => {
    const values = [randomUUID()];
    const { rowCount } = await client.query({ name: 'take', text: take, values });
    if (rowCount !== 1) throw new Error('The row is held.');
    await client.query({ name: 'give', text: give, values });
  };
  return [
    alone(OURS, await holdingOf(sqlLocks({ url }), TERMS)),
    { name: BY_HAND, run, close: () => client.end() },
  ];
}

async function mariadbWays(url) {
  const { registryTable, sqlLocks } = await importSql();
  const client = await createConnection(url);
  await client.query(registryTable('mysql'));
  await client.query(`${LEAST} varchar(64), till datetime(3) NOT NULL)`);
  await client.query("INSERT INTO least VALUES ('alone', 1, NULL, now(3))");
  const take =
    'UPDATE least SET token = last_insert_id(greatest(token + 1, floor(unix_timestamp(now(3)) * ' +
    "4096000))), holder = ?, till = now(3) + INTERVAL 3 SECOND WHERE name = 'alone' AND (holder " +
    'IS NULL OR till < now(3))';
  const give = "UPDATE least SET holder = NULL WHERE name = 'alone' AND holder = ?";
  const run = async () => {
    const values = [randomUUID()];
    const [{ affectedRows }] = await client.execute(take, values);
    if (affectedRows !== 1) throw new Error('The row is held.');
    await client.execute(give, values);
  };
  return [
    alone(OURS, await holdingOf(sqlLocks({ url }), TERMS)),
    { name: BY_HAND, run, close: () => client.end() },
  ];
}

async function etcdWays(url) {
  const { etcdLocks } = await importEtcd();
  const agent = new http.Agent({ keepAlive: true });
  const endpoint = url.replace(/^etcd:/, 'http:');
  const post = (path, body) =>
    new Promise((resolve, reject) => {
      const options = { method: 'POST', agent, headers: { 'content-type': 'application/json' } };
      const request = http.request(`${endpoint}/v3/${path}`, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => (text += part));
        response.on('end', () => resolve(JSON.parse(text)));
      });
      request.on('error', reject).end(JSON.stringify(body));
    });
  const key = Buffer.from('by-hand/alone').toString('base64');
  const compare = [{ key, target: 'CREATE', create_revision: '0', result: 'EQUAL' }];
  // The token is the revision that creates the key, and the key goes with its lease.
  const run = async () => {
    const { ID } = await post('lease/grant', { TTL: 3 });
    const value = Buffer.from(randomUUID()).toString('base64');
    const success = [{ requestPut: { key, value, lease: ID } }];
    const { succeeded } = await post('kv/txn', { compare, success });
    if (!succeeded) throw new Error('The key is held.');
    await post('lease/revoke', { ID });
  };
  return [
    alone(OURS, await holdingOf(etcdLocks({ endpoints: [endpoint] }), TERMS)),
    { name: BY_HAND, run, close: () => agent.destroy() },
  ];
}

async function measure({ run }, pid, ms = MEASURED_MS) {
  const before = process.cpuUsage();
  let count = 0;
  const { elapsedMs, cpuMs } = await measuredCpu(pid, async () => {
    for (const endMs = performance.now() + ms; performance.now() < endMs; count++) await run();
  });
  const { user, system } = process.cpuUsage(before);
  const clientUs = (user + system) / count;
  const serverUs = (1000 * cpuMs) / count;
  return { clockUs: (1000 * elapsedMs) / count, clientUs, serverUs, cpuUs: clientUs + serverUs };
}

async function rowsOf(store, { start, open }, options) {
  const server = await start();
  /** @type {Alone[]} */
  let ways = [];
  try {
    ways = await open(server.url);
    for (const way of ways) await measure(way, server.pid, WARM_MS);
    const byWay = await inTurns(ways, (way) => measure(way, server.pid), options);
    const [, byHand] = [...byWay].find(([{ name }]) => name === BY_HAND);
    return [...byWay].map(([{ name }, rounds]) => [
      store,
      name,
      ...['clockUs', 'clientUs', 'serverUs'].map((one) => figure(median(column(rounds, one)))),
      times(median(rounds.map(({ cpuUs }, at) => cpuUs / byHand[at].cpuUs)), 1),
    ]);
  } finally {
    await Promise.all(ways.map(({ close }) => close?.()));
    await server.stop();
  }
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ { rounds, log }) {
  const options = { rounds: Math.max(rounds, ROUNDS_MIN), log };
  const rows = [];
  for (const [store, way] of Object.entries(STORES))
    rows.push(...(await rowsOf(store, way, options)));
  return rows;
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const uncontended = {
  title: 'A lock that nobody else wants',
  explanation:
    'Acquire and release, one after another, in one process. The medians of nine rounds or more, ' +
    'in which the ways of a store take turns. By hand: one row or key with a token and a ' +
    'deadline, and in Redis a check of the server by INFO. The clock also counts two round ' +
    'trips, which take the longer the more often a core sleeps in between: see the two PINGs. ' +
    'CPU shows the code. In the process ours also keeps callers in order, limits each call, and ' +
    'extends the lock; in the store it also orders tokens by a header, checks the server and its ' +
    'clock, and keeps notes. Times by hand compares the CPU of client and server together.',
  columns: [
    'store',
    'way',
    'by the clock, µs',
    'CPU of the client, µs',
    'CPU of the server, µs',
    'CPU, times by hand',
  ],
  run,
};
