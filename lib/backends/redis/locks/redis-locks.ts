/**
 * Locks in Redis: one hash for each namespace, one atomic script for each operation. The scripts
 * apply the rules of lib/lock by the clock of Redis. Whoever waits for a lock is told of its
 * release by a connection that does nothing else.
 */
import { checkAcquire, checkExtend, checkRelease } from '../../../lock/check-request.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  LockRecord,
  LockStore,
  ReleaseRequest,
} from '../../../lock/lock-store.js';
import { lockRecords } from '../../../lock/lock-view.js';
import { Releases } from '../../../lock/releases.js';
import { messagesFrom } from '../connection/given-redis.js';
import { RedisHash, hashOptionsOf, type RedisHashOptions } from '../connection/redis-hash.js';
import { SCRIPTS } from '../scripts.generated.js';
import {
  acquireAnswer,
  acquireArguments,
  extendAnswer,
  extendArguments,
  lockPage,
} from './lock-answer.js';

/** Options of redisLocks(). */
export interface RedisLocksOptions extends RedisHashOptions {
  /**
   * How long an old server may go on granting after another one has taken over. Default 2,000, and
   * 18,000 for Sentinel and Cluster, where an old master may answer for a while.
   */
  readonly lossWindowMs?: number | undefined;
}

/** Each lock that is granted looks at two others, and forgets them where nobody needs them. */
const LOOKED_AT_COUNT = 2;

/** Locks in Redis, for the option `locks`; redisLocks() makes them. */
export class RedisLocks implements LockStore {
  readonly #hash: RedisHash;
  readonly #releases: Releases;

  constructor(options: RedisLocksOptions) {
    this.#hash = new RedisHash('locks', options);
    this.#releases = new Releases(messagesFrom(options.redis));
  }

  /** The locks: one hash. */
  get key(): string {
    return this.#hash.key;
  }

  get place(): string {
    return this.#hash.place;
  }

  get lossWindowMs(): number {
    return this.#hash.lossWindowMs;
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    const asked = acquireArguments(request, LOOKED_AT_COUNT);
    const reply = await this.#hash.change(SCRIPTS.acquireLock, request.lock, asked);
    return acquireAnswer(reply, request.ttlMs);
  }

  async extend(request: ExtendRequest): Promise<ExtendAnswer> {
    checkExtend(request);
    const asked = extendArguments(request);
    const reply = await this.#hash.change(SCRIPTS.extendLock, request.lock, asked);
    return extendAnswer(reply, request.ttlMs);
  }

  async release(request: ReleaseRequest): Promise<void> {
    checkRelease(request);
    const { lock, holder, token = '', keepMs = 0 } = request;
    await this.#hash.change(SCRIPTS.releaseLock, lock, [holder, token, keepMs]);
  }

  /** Whoever waits sees to the time; a message that is not heard costs no more than that. */
  untilReleased(lock: string, _limitMs: number, signal: AbortSignal): Promise<void> {
    return this.#releases.until(`${this.key}:${lock}`, signal, () => this.#isFree(lock));
  }

  async locks(): Promise<LockRecord[]> {
    const pages = await this.#hash.readPages(SCRIPTS.locks, lockPage);
    // A page may tell again what an earlier one has told.
    const found = new Map(pages.flatMap(({ locks }) => locks.map((one) => [one.lock, one])));
    const { last, timeMs } = pages.at(-1)!;
    return lockRecords(last, [...found.values()], { timeMs });
  }

  async advice(): Promise<string[]> {
    const policy = await this.#hash.eviction();
    if (policy === undefined) return [];
    return [
      `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including ` +
        `the locks, which are then lost while they are held. Use volatile-lru or noeviction.`,
    ];
  }

  async close(): Promise<void> {
    await Promise.all([this.#hash.close(), this.#releases.close()]);
  }

  async #isFree(lock: string): Promise<boolean> {
    const [answer] = await this.#hash.read(SCRIPTS.isLockFree, [lock]);
    return answer === 'free';
  }
}

/**
 * Locks in Redis.
 *
 * @throws SnowflakeError CONFIG_INVALID for a URL, name or window that cannot be used.
 * @example
 * ```ts
 * import { redisLocks } from 'nestjs-snowflake/redis';
 *
 * const locks = redisLocks({ redis: 'redis://localhost:6379', namespace: 'shop' });
 * ```
 */
export function redisLocks(options: RedisLocksOptions): RedisLocks {
  return new RedisLocks(options);
}

/** The locks of a URL, redis://localhost:6379/0?namespace=shop. */
export function locksFromUrl(url: string): RedisLocks {
  return new RedisLocks(hashOptionsOf(url));
}
