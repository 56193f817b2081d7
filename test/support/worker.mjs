/**
 * What processes of the tests do: they make ids or numbers, and tell each before anything else can
 * happen, until they are ended or killed; or hold a lock while they end. Each loads what it needs
 * and not the front door, since many are started.
 */
import { writeSync } from 'node:fs';

const { does, ...given } = JSON.parse(process.env.WORKER);
const LINE_COUNT = 20;

/** By what a spec calls it. */
const WORK = {
  'ids of a folder': ofFolder,
  'ids of a store': ofStore,
  numbers,
  'late end': lateEnd,
};
await WORK[does](given);

/** Under a lease from a folder, or under a fixed number. */
async function ofFolder({ folder, workerId, fromMs }) {
  const { folderSupport } = await import('./lib/stores/host/index.js');
  const { layouts } = await import('./lib/core/layout/presets.js');
  const { StaticSupport } = await import('./lib/lease/static.support.js');
  const { startSnowflake } = await import('./lib/nest/start-snowflake.js');
  const startedMs = Date.now();
  let readCount = 0;
  /**
   * Under a fixed number each reading is a millisecond, so that two processes go through the same
   * times however fast the machine is; with a folder the clock is of a host that is wrong by so
   * much.
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

/** Each id goes to descriptor 3 as eight bytes, each call that was refused to standard error. */
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

/** Of a counter, of ids made in Redis, or of nothing that others have in common. */
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
 * It is shut down while a section runs under a lock, and has nothing else to do once this has
 * ended, or is waited for no longer: it has to end by itself.
 */
async function lateEnd({ url, ttlMs, isEnded }) {
  const { DistributedLock } = await import('./lib/lock/distributed-lock.js');
  const { locksOf } = await import('./lib/stores/schemes.js');
  const locks = new DistributedLock(await locksOf(url), { ttlMs, drainMs: 0 });
  // A new store grants nothing for a while.
  const held = await locks.tryAcquire('late', { waitMs: 600_000 });
  await locks.close();
  if (isEnded) await held.release();
  writeSync(1, 'closed');
}

/** Makes again and again, and gives back what it has when it is told to end. */
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
