// Group: how many numbers one process gets out of a store, in segments and one at a time.
// In one file, since the ways are compared with each other.
//
// Guarantee: every server writes to disk as in production, is new and ours alone; a number that
// comes twice, or in falling order, fails the run.
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { bold, column, figure, median, span } from '../harness/figures.mjs';
import { importEtcd, importRedis, importSegments, importSql } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';

const { startSegments } = await importSegments();

const STEPS = [100, 1000, 10_000, 100_000];
const MEASURED_MS = 2000;
const WARM_MS = 500;
/** Far more than is taken within the time of which a store may lose its writes. */
const LOSS_GAP = 10n ** 12n;

const AOF = ['--appendonly', 'yes', '--appendfsync', 'everysec'];

const STORES = {
  Redis: {
    start: () => startRedis({ args: AOF }),
    async counters(url) {
      const { redisCounters } = await importRedis();
      return { store: redisCounters({ redis: url }), close: async () => undefined };
    },
    /** CosId's way, and what a segment costs where nothing but INCRBY keeps it. */
    async single(url) {
      const redis = new Redis(url);
      const next = async () => BigInt(await redis.incrby('plain', 1));
      return { next, close: async () => redis.disconnect() };
    },
    async perSegment(url, step) {
      const redis = new Redis(url);
      const take = async () => BigInt(await redis.incrby('plain', step)) - BigInt(step);
      return { take, close: async () => redis.disconnect() };
    },
  },
  PostgreSQL: {
    start: () => startPostgres(['fsync=on']),
    async counters(url) {
      const { registryTable, sqlCounters } = await importSql();
      const pool = new Pool({ connectionString: url, max: 4 });
      await pool.query(registryTable('postgres'));
      return { store: sqlCounters({ pool, replicated: false }), close: () => pool.end() };
    },
    /** An auto-increment column, one row at a time. */
    async single(url) {
      const pool = new Pool({ connectionString: url, max: 4 });
      await pool.query('CREATE TABLE IF NOT EXISTS rows (id bigserial PRIMARY KEY)');
      const insert = 'INSERT INTO rows DEFAULT VALUES RETURNING id';
      const next = async () => BigInt((await pool.query(insert)).rows[0].id);
      return { next, close: () => pool.end() };
    },
    /** Leaf's way: one row for each kind of number, raised by the step. */
    async perSegment(url, step) {
      const pool = new Pool({ connectionString: url, max: 4 });
      await pool.query(
        'CREATE TABLE IF NOT EXISTS leaf (tag text PRIMARY KEY, max_id bigint NOT NULL)',
      );
      await pool.query("INSERT INTO leaf VALUES ('order', 1) ON CONFLICT DO NOTHING");
      const raise = 'UPDATE leaf SET max_id = max_id + $1 WHERE tag = $2 RETURNING max_id';
      const take = async () =>
        BigInt((await pool.query(raise, [step, 'order'])).rows[0].max_id) - BigInt(step);
      return { take, close: () => pool.end() };
    },
  },
  etcd: {
    start: () => startEtcd({ isDurable: true }),
    async counters(url) {
      const { etcdCounters } = await importEtcd();
      const endpoints = [url.replace('etcd:', 'http:').replace(/\?.*/, '')];
      return { store: etcdCounters({ endpoints }), close: async () => undefined };
    },
  },
};

/** @returns {Promise<number>} ids per second */
async function ratePerSecond(/** @type {() => Promise<number>} */ some) {
  const warmEnd = performance.now() + WARM_MS;
  while (performance.now() < warmEnd) await some();
  const startedAt = performance.now();
  const end = startedAt + MEASURED_MS;
  let count = 0;
  while (performance.now() < end) count += await some();
  return (count * 1000) / (performance.now() - startedAt);
}

/** What came before is lower. */
function rising() {
  let last = -1n;
  return (/** @type {bigint} */ first, /** @type {bigint} */ end) => {
    if (first <= last) throw new Error(`${first} came after ${last}.`);
    last = end;
  };
}

async function bySegments(url, { counters }, step) {
  const { store, close } = await counters(url);
  const running = await startSegments({
    store,
    counter: `bench-${step}`,
    startAt: () => 0n,
    lossGap: LOSS_GAP,
    stepMin: step,
    stepMax: step,
    startTimeoutMs: 60_000,
  });
  const check = rising();
  const target = new BigUint64Array(Math.min(step, 1000));
  try {
    return await ratePerSecond(async () => {
      const count = Math.min(running.ids.status.buffered, target.length);
      if (count === 0) {
        const id = await running.ids.nextIdAsync();
        check(id, id);
        return 1;
      }
      const taken = target.subarray(0, count);
      running.ids.fill(taken);
      check(taken[0], taken.at(-1));
      return count;
    });
  } finally {
    await running.close();
    await close();
  }
}

async function oneAtATime(url, { single }) {
  const { next, close } = await single(url);
  const check = rising();
  try {
    return await ratePerSecond(async () => {
      const id = await next();
      check(id, id);
      return 1;
    });
  } finally {
    await close();
  }
}

/** A segment is asked for when the last one is spent, without keeping any ahead. */
async function plainSegments(url, { perSegment }, step) {
  const { take, close } = await perSegment(url, step);
  const check = rising();
  const numbers = new BigUint64Array(step);
  try {
    return await ratePerSecond(async () => {
      const first = await take();
      for (let at = 0; at < step; at++) numbers[at] = first + BigInt(at);
      check(first, numbers[step - 1]);
      return step;
    });
  } finally {
    await close();
  }
}

const WAYS = {
  segments: { needs: 'counters', rate: bySegments, steps: STEPS },
  'one call per segment, nothing ahead (Leaf)': {
    needs: 'perSegment',
    rate: plainSegments,
    steps: STEPS,
  },
  'one call per number (CosId, auto-increment)': { needs: 'single', rate: oneAtATime, steps: [1] },
};

const CASES = Object.entries(STORES).flatMap(([store, parts]) =>
  Object.entries(WAYS)
    .filter(([, { needs }]) => needs in parts)
    .flatMap(([way, { steps }]) => steps.map((step) => ({ store, way, step }))),
);

async function measure({ store, way, step }) {
  const { start, ...rest } = STORES[store];
  const server = await start();
  try {
    return { perSecond: await WAYS[way].rate(server.url, rest, step) };
  } finally {
    await server.stop();
  }
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  Logger.overrideLogger(false);
  const byCase = await inTurns(CASES, measure, options);
  return [...byCase].map(([{ store, way, step }, results]) => {
    const millions = column(results, 'perSecond').map((perSecond) => perSecond / 1e6);
    const name = way === 'segments' ? bold('nestjs-snowflake/segments') : way;
    const digits = median(millions) < 1 ? median(millions).toFixed(4) : figure(median(millions));
    return [store, name, step.toLocaleString('en'), digits, span(millions)];
  });
}

export const fromAStore = {
  title: 'Numbers from a store',
  explanation:
    'How many numbers one process gets, in millions per second, as fast as it can. Redis keeps ' +
    'an append-only file (everysec), PostgreSQL and etcd (one member) wait for their disk. Ours ' +
    'checks server, window and what the process had before with every call, and takes the next ' +
    'segments while one is used; the other ways are the statements of those libraries, without ' +
    'what they lose after a restart or failover. Each number is compared with the one before.',
  columns: ['store', 'how', 'step', 'million numbers per second', 'min–max'],
  run,
};
