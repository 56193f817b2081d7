// The benchmark of ids made in Redis: the way of redis-id-generator, a script per id with a key for
// each ms, and ours; in one run, on one server with an append-only file.
//
// Guarantee: every id of every round is checked for a second one; a row that has duplicates says
// so.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { bold, column, spread } from '../harness/figures.mjs';
import { importRedis, importRedisIds } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';

const { redisCounters } = await importRedis();
const { startRedisIds } = await importRedisIds();

const IN_FLIGHT = 50;
const MEASURED_MS = 1000;
/** Losses of everything, and the pause before each, in which ids are made. */
const FLUSH_COUNT = 40;
const BETWEEN_MS = 100;

/** From the description of redis-id-generator, written anew. */
const PEER_LUA = `
local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
local key = ARGV[1] .. '_' .. ARGV[2] .. '_' .. string.format('%.0f', ms)
local number = redis.call('INCR', key)
if number == 1 then redis.call('PEXPIRE', key, 5) end
return { string.format('%.0f', ms), number }
`;

const WAYS = [
  { name: 'a script per id, a key per ms', flight: IN_FLIGHT, open: peer },
  { name: bold('ours, a call per id'), flight: IN_FLIGHT, open: unshared },
  { name: bold('ours, nextIdAsync'), flight: IN_FLIGHT, open: (url) => ours(url, 1) },
  { name: bold('ours, nextIdsAsync(1000)'), flight: 1, open: (url) => ours(url, 1000) },
];

async function peer(url) {
  const redis = new Redis(url);
  const sha1 = await redis.script('LOAD', PEER_LUA);
  const tag = randomUUID();
  return {
    async next() {
      const [ms, number] = await redis.evalsha(sha1, 0, tag, 7);
      return [(BigInt(ms) << 22n) | (7n << 10n) | BigInt(number)];
    },
    close: () => redis.disconnect(),
  };
}

/** The store of counters alone: nothing is shared, as in the row above. */
async function unshared(url) {
  const store = redisCounters({ redis: url, namespace: randomUUID(), lossWindowMs: 0 });
  const take = { kind: 'clock', counter: 'order', count: 1n, perMs: 1024, aheadMs: 1000 };
  let have = 0n;
  return {
    async next() {
      for (;;) {
        const answer = await store.take({ ...take, have });
        if (answer.status === 'ok' && answer.end > have) have = answer.end;
        if (answer.status === 'ok') return [answer.first];
        await new Promise((resolve) => setTimeout(resolve, answer.waitMs));
      }
    },
    close: () => store.close(),
  };
}

async function ours(url, count) {
  const options = { redis: url, namespace: randomUUID(), tag: 'order', lossWindowMs: 0 };
  const { ids, close } = await startRedisIds(options);
  return { next: () => ids.nextIdsAsync(count, { fields: { shard: 7 } }), close };
}

async function measure({ flight, open }) {
  const server = await startRedis({ args: ['--appendonly', 'yes'] });
  const way = await open(server.url);
  try {
    // Where a new counter begins lies ahead of the clock, and the clock comes to it first.
    for (const endsAt = performance.now() + 1500; performance.now() < endsAt;) await way.next();
    const all = [];
    const startedAt = performance.now();
    const worker = async () => {
      while (performance.now() - startedAt < MEASURED_MS) all.push(await way.next());
    };
    await Promise.all(Array.from({ length: flight }, worker));
    const seconds = (performance.now() - startedAt) / 1000;
    const ids = all.flat();
    const perSecond = ids.length / seconds;
    const flushed = await flushedUnder(way, { flight, url: server.url });
    return { perSecond, twice: twiceIn(ids), flushedTwice: twiceIn([...ids, ...flushed]) };
  } finally {
    await way.close();
    await server.stop();
  }
}

const twiceIn = (/** @type {readonly bigint[]} */ ids) => ids.length - new Set(ids).size;

/** Ids made while everything in Redis is lost again and again, and until the way goes on. */
async function flushedUnder(way, { flight, url }) {
  const admin = new Redis(url);
  const all = [];
  let isOver = false;
  const worker = async () => {
    do all.push(await way.next());
    while (!isOver);
  };
  const workers = Array.from({ length: flight }, worker);
  for (let count = 0; count < FLUSH_COUNT; count++) {
    await sleep(BETWEEN_MS);
    await admin.flushall();
  }
  isOver = true;
  await Promise.all(workers);
  admin.disconnect();
  return all.flat();
}

async function run(options) {
  const results = await inTurns(WAYS, measure, options);
  return [...results].map(([{ name, flight }, rounds]) => [
    name,
    String(flight),
    spread(column(rounds, 'perSecond'), 0),
    spread(column(rounds, 'twice'), 0),
    spread(column(rounds, 'flushedTwice'), 0),
  ]);
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const idsInRedis = {
  title: 'Ids made in Redis',
  explanation:
    'One process and one redis-server with an append-only file. The first row is the algorithm ' +
    'of redis-id-generator, written anew. It does less in a call, since it keeps no promise ' +
    'over a loss of data or a clock that is set back. So ours are slower where each id has a ' +
    'call of its own, and faster where callers share calls, as those of `nextIdAsync` do. A ' +
    'layout with 10 bits of sequence has at most 1,024,000 ids a second, where the last row ends.',
  columns: [
    'way',
    'in flight',
    'ids per second',
    'ids twice',
    `ids twice, ${FLUSH_COUNT} times FLUSHALL`,
  ],
  run,
};
