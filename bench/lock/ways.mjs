// The ways of holding a lock that are compared, each used as its own documentation says: by the
// call that extends the lock by itself, where there is one.
//
// Guarantee: each gets a client of ioredis of its own, as it is by default. Whoever waits does so
// by the defaults of the package; only how often it tries is raised, so that nobody gives up.
import { Mutex as LocalMutex } from 'async-mutex';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import Redlock from 'redlock';
import { IoredisAdapter, createLock } from 'redlock-universal';
import { bold } from '../harness/figures.mjs';
import { importLock, importRedis } from '../harness/library.mjs';

/**
 * @typedef {object} View what a section can ask
 * @property {() => boolean} believes whether it is told that it holds the lock
 *
 * @typedef {object} Holding
 * @property {<T>(lock: string, run: (view: View) => Promise<T>) => Promise<T>} using waits for it
 * @property {() => unknown} close
 *
 * @typedef {object} Way
 * @property {string} name
 * @property {boolean} [isLocal] of one process
 * @property {(url: string, terms: { ttlMs: number, tries: number }) => Promise<Holding>} open
 */

/** Whoever has to wait longer than this waits in vain. */
const WAIT_MS = 60_000;

/** @type {Way[]} */
export const WAYS = [
  { name: bold('nestjs-snowflake/lock'), open: ours },
  { name: 'redlock 5.0.0-beta.2', open: redlock },
  { name: 'redis-semaphore 5.8.0', open: semaphore },
  { name: 'redlock-universal 0.8.5', open: universal },
  { name: 'async-mutex 0.5.0, one process', isLocal: true, open: local },
];

export const STORED_WAYS = WAYS.filter(({ isLocal = false }) => !isLocal);

export const wayOf = (/** @type {string} */ wanted) => WAYS.find(({ name }) => name === wanted);

async function ours(url, terms) {
  const { redisLocks } = await importRedis();
  return holdingOf(redisLocks({ redis: url }), terms);
}

/** @returns {Promise<Holding>} */
export async function holdingOf(store, { ttlMs }) {
  const { DistributedLock } = await importLock();
  const locks = new DistributedLock(store, { ttlMs, drainMs: 0 });
  // A store without data may have lost it: the first lock ever is waited for.
  await locks.using('first', { waitMs: WAIT_MS }, async () => undefined);
  return {
    using: (lock, run) =>
      locks.using(lock, { waitMs: WAIT_MS }, (section) =>
        run({ believes: () => section.leftMs > 0 }),
      ),
    close: () => locks.close(),
  };
}

async function redlock(url, { ttlMs, tries }) {
  const redis = clientOf(url);
  const made = new Redlock([redis]);
  // As its documentation says: whatever it could not do is also thrown.
  made.on('error', () => undefined);
  return {
    using: (lock, run) =>
      made.using([lock], ttlMs, { retryCount: tries }, async (signal) => {
        const value = await run({ believes: () => !signal.aborted });
        if (signal.aborted) throw signal.error;
        return value;
      }),
    close: () => redis.disconnect(),
  };
}

async function semaphore(url, { ttlMs }) {
  const redis = clientOf(url);
  return {
    async using(lock, run) {
      const mutex = new Mutex(redis, lock, {
        lockTimeout: ttlMs,
        acquireTimeout: WAIT_MS,
        // By default it is an unhandled error, which ends the process.
        onLockLost: () => undefined,
      });
      await mutex.acquire();
      try {
        return await run({ believes: () => mutex.isAcquired });
      } finally {
        await mutex.release();
      }
    },
    close: () => redis.disconnect(),
  };
}

async function universal(url, { ttlMs, tries }) {
  const redis = clientOf(url);
  const adapter = new IoredisAdapter(redis);
  return {
    using: (key, run) =>
      createLock({ adapter, key, ttl: ttlMs, retryAttempts: tries }).using((signal) =>
        run({ believes: () => !signal.aborted }),
      ),
    close: () => redis.disconnect(),
  };
}

async function local() {
  const mutexes = new Map();
  return {
    using(lock, run) {
      if (!mutexes.has(lock)) mutexes.set(lock, new LocalMutex());
      return mutexes.get(lock).runExclusive(() => run({ believes: () => true }));
    },
    close: () => undefined,
  };
}

function clientOf(/** @type {string} */ url) {
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  return redis;
}
