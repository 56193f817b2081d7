// The benchmark of semaphores of three whose Redis loses who holds them: by FLUSHALL, and as the
// address of the server leads to a replica that had not heard of them.
//
// Guarantee: three hold and three wait, each with a client of its own, and all of them are asked
// whether they hold it every 2 ms.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { MultiSemaphore, RedlockSemaphore, Semaphore } from 'redis-semaphore';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { bold, column, spread } from '../harness/figures.mjs';
import { importLock, importRedis } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';

const [PERMITS, TTL_MS, WAIT_MS] = [3, 1000, 60_000];
const [WATCHED_MS, LOOK_MS] = [8000, 2];

/**
 * @typedef {object} Way
 * @property {string} name
 * @property {number} servers of which the first one loses everything
 * @property {(urls: string[]) => Promise<Holder>} open
 * @typedef {{ hold: (until: Promise<void>) => Promise<void>, believes: () => boolean,
 *   close: () => unknown }} Holder
 */

/** @type {Way[]} */
const WAYS = [
  { name: bold('nestjs-snowflake/lock, permits'), servers: 1, open: ours },
  { name: 'redis-semaphore 5.8.0, Semaphore', servers: 1, open: theirs(semaphore) },
  { name: 'redis-semaphore 5.8.0, MultiSemaphore', servers: 1, open: theirs(multi) },
  { name: 'the same, RedlockSemaphore of one server', servers: 1, open: theirs(redlock) },
  { name: 'the same, RedlockSemaphore of three servers', servers: 3, open: theirs(redlock) },
];

async function ours([url]) {
  const [{ DistributedLock }, { redisLocks }] = await Promise.all([importLock(), importRedis()]);
  const locks = new DistributedLock(redisLocks({ redis: url }), { ttlMs: TTL_MS, drainMs: 0 });
  // A store without data may have lost it: the first lock ever is waited for.
  await locks.using('first', { waitMs: WAIT_MS }, async () => undefined);
  let section;
  return {
    hold: (until) =>
      locks.using('job', { permits: PERMITS, waitMs: WAIT_MS }, async (own) => {
        section = own;
        await until;
      }),
    believes: () => (section?.leftMs ?? 0) > 0,
    close: () => locks.close(),
  };
}

const OPTIONS = {
  lockTimeout: TTL_MS,
  acquireTimeout: WAIT_MS,
  // By default it is an unhandled error, which ends the process.
  onLockLost: () => undefined,
};

function semaphore([client]) {
  return new Semaphore(client, 'job', PERMITS, OPTIONS);
}

function multi([client]) {
  return new MultiSemaphore(client, 'job', PERMITS, 1, OPTIONS);
}

function redlock(clients) {
  return new RedlockSemaphore(clients, 'job', PERMITS, OPTIONS);
}

function theirs(make) {
  return async (urls) => {
    const clients = urls.map((url) => new Redis(url));
    for (const client of clients) client.on('error', () => undefined);
    const made = make(clients);
    return {
      async hold(until) {
        await made.acquire();
        await until;
        await made.release();
      },
      believes: () => made.isAcquired,
      close: () => clients.forEach((client) => client.disconnect()),
    };
  };
}

/** An address that leads to one server, and later to another one, where all connect anew. */
async function addressOf(/** @type {number} */ port) {
  let target = port;
  const sockets = new Set();
  const server = createServer((client) => {
    const behind = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ]) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const drop = () => sockets.forEach((socket) => socket.destroy());
  return {
    url: `redis://127.0.0.1:${server.address().port}`,
    lead(next) {
      target = next;
      drop();
    },
    close() {
      server.close();
      drop();
    },
  };
}

async function replicaOf(/** @type {number} */ port) {
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(port)] });
  const admin = new Redis(replica.url);
  // Until it has heard what there was.
  while (!(await admin.info('replication')).includes('master_link_status:up')) await sleep(50);
  return { ...replica, admin };
}

/** @returns {Promise<{ most: number, overMs: number }>} held at once, and for how long too many */
async function lost({ servers: count, open }, /** @type {'flush' | 'failover'} */ how) {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedis()));
  const address = await addressOf(servers[0].port);
  const urls = [address.url, ...servers.slice(1).map(({ url }) => url)];
  const holders = [];
  for (let at = 0; at < 2 * PERMITS; at++) holders.push(await open(urls));
  // Whatever was written until then it has heard, and none of the permits.
  const replica = await replicaOf(servers[0].port);
  if (how === 'failover') await replica.admin.replicaof('NO', 'ONE');
  const admin = new Redis(servers[0].url);
  let end;
  const until = new Promise((resolve) => (end = resolve));
  const heldCount = () => holders.filter(({ believes }) => believes()).length;
  const held = holders.map((holder) => holder.hold(until).catch(() => undefined));
  try {
    while (heldCount() < PERMITS) await sleep(LOOK_MS);
    await sleep(TTL_MS / 2);
    if (how === 'flush') await admin.flushall();
    else address.lead(replica.port);
    return await watched(heldCount);
  } finally {
    end();
    await Promise.race([Promise.all(held), sleep(TTL_MS)]);
    for (const client of [admin, replica.admin]) client.disconnect();
    await Promise.all(holders.map((holder) => holder.close()));
    address.close();
    for (const server of [...servers, replica]) await server.stop();
  }
}

async function watched(/** @type {() => number} */ heldCount) {
  let [most, overMs] = [0, 0];
  const endMs = performance.now() + WATCHED_MS;
  for (let last = performance.now(); last < endMs;) {
    await sleep(LOOK_MS);
    const [now, count] = [performance.now(), heldCount()];
    most = Math.max(most, count);
    if (count > PERMITS) overMs += now - last;
    last = now;
  }
  return { most, overMs };
}

async function measure(way) {
  return { flush: await lost(way, 'flush'), failover: await lost(way, 'failover') };
}

/** How often too many held it, and how many at most. */
function oftenText(found) {
  const over = found.filter(({ most }) => most > PERMITS);
  const most = Math.max(...column(found, 'most'));
  return `${over.length} of ${found.length}, at most ${most}`;
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byWay = await inTurns(WAYS, measure, options);
  return [...byWay].map(([{ name }, rounds]) => [
    name,
    ...['flush', 'failover'].flatMap((how) => {
      const found = column(rounds, how);
      return [oftenText(found), spread(column(found, 'overMs'), 0)];
    }),
  ]);
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const semaphores = {
  title: 'Semaphores in Redis, when it loses who holds them',
  explanation:
    'A semaphore of three, with a ttl of 1 s, extended by each package itself: three hold it and ' +
    'three wait. Everything is lost by FLUSHALL; or the address of the server leads to a replica ' +
    'that had not heard of the holders, as after a failover. Of several servers the first one ' +
    'alone. In how many of the rounds did more than three believe that they hold it, how many at ' +
    'most, and for how long, within 8 s?',
  columns: ['package', 'too many after FLUSHALL', 'for ms', 'too many after a failover', 'for ms '],
  run,
};
