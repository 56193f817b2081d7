/**
 * Processes for tests. Most generate IDs or numbers until they are stopped or killed, and report
 * each before the next event; others hold a lock while they end. Each imports only the modules that
 * it needs, since many are started.
 */
import { writeSync } from 'node:fs';

const { does, ...given } = JSON.parse(process.env.WORKER);
const LINE_COUNT = 20;

/** By the name that a spec passes. */
const WORK = {
  'ids of a folder': ofFolder,
  'ids of a store': ofStore,
  numbers,
  'late end': lateEnd,
};
await WORK[does](given);

/** Uses a lease from a folder, or a fixed worker ID. */
async function ofFolder({ folder, workerId, fromMs }) {
  const { folderSupport } = await import('./lib/stores/host/index.js');
  const { layouts } = await import('./lib/core/layout/presets.js');
  const { StaticSupport } = await import('./lib/lease/static.support.js');
  const { startSnowflake } = await import('./lib/nest/start-snowflake.js');
  const startedMs = Date.now();
  let readCount = 0;
  /**
   * With a fixed worker ID, each reading advances one millisecond, so two processes pass the same
   * times on any machine. With a folder, the clock is wrong by a constant.
   */
  const clock = {
    now: () => {
      if (fromMs === undefined) return Date.now();
      return fromMs + (folder === undefined ? readCount++ : Date.now() - startedMs);
    },
  };
  const snowflake = await startSnowflake({
    support: folder === undefined ? new StaticSupport(workerId) : folderSupport({ folder, clock }),
    ...(folder !== undefined && workerId !== undefined && { workerId }),
    layout: layouts.twitter(),
    workerFields: { datacenter: 0 },
    clock,
    leaseTtlMs: 10_000,
    refreshAliveIntervalMs: 100,
    callTimeoutMs: 5000,
    reserveMs: 1000,
  });
  const line = () => Array.from({ length: LINE_COUNT }, () => snowflake.ids.nextIdString());
  untilEnded(snowflake, () => writeSync(1, `${line().join(' ')}\n`), 2);
}

/** Writes each ID to descriptor 3 as eight bytes, and each error to stderr. */
async function ofStore({ support }) {
  const { startSnowflake } = await import('./lib/nest/start-snowflake.js');
  const lease = { leaseTtlMs: 10_000, refreshAliveIntervalMs: 1000, reserveMs: 1000 };
  const snowflake = await startSnowflake({ support, ...lease });
  const make = () => {
    const made = new BigUint64Array(40);
    try {
      snowflake.ids.fill(made);
      writeSync(3, new Uint8Array(made.buffer));
    } catch (error) {
      writeSync(2, `REFUSED ${error.code} ${error.message}\n`);
    }
  };
  untilEnded(snowflake, make, 20);
}

/** Numbers of a counter, IDs from Redis, or numbers without a common store. */
async function numbers({ segments, redisIds }) {
  const { MemoryCounters } = await import('./lib/stores/memory/memory-counters.js');
  const { startRedisIds } = await import('./lib/nest/redis-ids/index.js');
  const { startSegments } = await import('./lib/nest/segments/index.js');
  const inMemory = () => ({
    store: new MemoryCounters(),
    counter: 'order',
    startAt: 1n,
    stepMin: 50,
  });
  const start = redisIds === undefined ? startSegments : startRedisIds;
  const snowflake = await start({
    ...(redisIds ?? segments ?? inMemory()),
    callTimeoutMs: 20_000,
    startTimeoutMs: 120_000,
  });
  const make = async (isEnding) => {
    const ids = [];
    try {
      while (ids.length < LINE_COUNT) ids.push(await snowflake.ids.nextIdAsync());
    } catch (error) {
      if (!isEnding()) throw error;
    }
    writeSync(1, `${ids.join(' ')}\n`);
  };
  untilEnded(snowflake, make, 2);
}

/**
 * The process shuts down while a section holds a lock. When the section ends, or the wait for it
 * does, the process must exit by itself.
 */
async function lateEnd({ url, ttlMs, isEnded }) {
  const { DistributedLock } = await import('./lib/lock/distributed-lock.js');
  const { locksOf } = await import('./lib/stores/schemes.js');
  const locks = new DistributedLock(await locksOf(url), { ttlMs, drainMs: 0 });
  // A new store grants no lock at first.
  const held = await locks.tryAcquire('late', { waitMs: 600_000 });
  await locks.close();
  if (isEnded) await held.release();
  writeSync(1, 'closed');
}

/** Generates repeatedly, and releases its worker ID when it is stopped. */
function untilEnded(snowflake, make, pauseMs) {
  let isEnding = false;
  process.once('SIGTERM', () => {
    isEnding = true;
    void snowflake.close();
  });
  const next = async () => {
    if (isEnding) return;
    await make(() => isEnding);
    setTimeout(() => void next(), pauseMs);
  };
  void next();
}
