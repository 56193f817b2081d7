/**
 * Locks in Redis: one hash for each namespace, one atomic script for each operation.
 *
 * Promise: the rules of lib/lock by Redis' own clock. Whoever waits for a lock is told of its
 * release by a connection that does nothing else.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../../../errors.js';
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
import { lockRecords, type NamedLock } from '../../../lock/lock-view.js';
import { windowFaults } from '../../../registry/loss-window.js';
import {
  connectionTo,
  evictionOf,
  isReplicatedRedis,
  nameFaults,
} from '../connection/given-redis.js';
import type { GivenClient } from '../connection/redis-client.js';
import type { RedisConnection, Script } from '../connection/redis-connection.js';
import { parseRedisUrl, refuseQuery } from '../connection/redis-url.js';
import { SCRIPTS } from '../scripts.generated.js';
import {
  acquireAnswer,
  acquireArguments,
  extendAnswer,
  lockPage,
  refuseOtherVersion,
} from './lock-answer.js';
import { Releases } from './releases.js';

export interface RedisLocksOptions {
  /** An ioredis client (Redis or Cluster), whose settings are used, or a URL. */
  readonly redis: GivenClient | string;
  /** Locks of the same name in other namespaces are others. Default 'default'. */
  readonly namespace?: string | undefined;
  /** Before the namespace in the key. Default 'snowflake:'. */
  readonly prefix?: string | undefined;
  /**
   * How long an old server may go on granting after another one has taken over. Default 2,000, and
   * 18,000 for Sentinel and Cluster, where an old master may answer for a while.
   */
  readonly lossWindowMs?: number | undefined;
}

const RESTART_MS = 2000;
const FAILOVER_MS = 16_000;
/** Each lock that is granted looks at two others, and forgets them where nobody needs them. */
const LOOKED_AT_COUNT = 2;

export class RedisLocks implements LockStore {
  readonly lossWindowMs: number;
  /** The locks: one hash. The braces keep it in one Cluster slot. */
  readonly key: string;
  readonly place: string;
  readonly #connection: RedisConnection;
  readonly #releases: Releases;

  constructor(options: RedisLocksOptions) {
    const { namespace = 'default', prefix = 'snowflake:', redis } = options;
    const windowMs = RESTART_MS + (isReplicatedRedis(redis) ? FAILOVER_MS : 0);
    const { lossWindowMs = windowMs } = options;
    const faults = [
      ...nameFaults('namespace', namespace),
      ...(prefix === '' ? [] : nameFaults('prefix', prefix)),
      ...windowFaults('lossWindowMs', lossWindowMs),
    ];
    if (faults.length > 0) {
      const message = `The Redis locks are misconfigured. ${faults.join(' ')}`;
      throw new SnowflakeError('CONFIG_INVALID', message, { details: { faults } });
    }
    this.lossWindowMs = lossWindowMs;
    this.key = `${prefix}{${namespace}}:locks`;
    this.#connection = connectionTo(redis);
    this.#releases = new Releases(connectionTo(redis), `${this.key}:`);
    this.place = `Redis at ${this.#connection.where}, ${this.key}`;
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    const asked = [...acquireArguments(request), LOOKED_AT_COUNT];
    const reply = await this.#run(SCRIPTS.acquireLock, request.lock, asked);
    return acquireAnswer(reply, request.ttlMs);
  }

  async extend(request: ExtendRequest): Promise<ExtendAnswer> {
    checkExtend(request);
    const { lock, holder, token, ttlMs } = request;
    return extendAnswer(await this.#run(SCRIPTS.extendLock, lock, [holder, token, ttlMs]), ttlMs);
  }

  async release(request: ReleaseRequest): Promise<void> {
    checkRelease(request);
    const { lock, holder, token = '', keepMs = 0 } = request;
    await this.#run(SCRIPTS.releaseLock, lock, [holder, token, keepMs]);
  }

  /** Whoever waits sees to the time; a message that is not heard costs no more than that. */
  untilReleased(lock: string, _limitMs: number, signal: AbortSignal): Promise<void> {
    return this.#releases.until(lock, signal, () => this.#isFree(lock));
  }

  async locks(): Promise<LockRecord[]> {
    this.#connection.reopen();
    const found = new Map<string, NamedLock>();
    let page;
    do {
      const reply = await this.#connection.run(SCRIPTS.locks, this.key, [page?.cursor ?? '0']);
      page = lockPage(reply);
      for (const one of page.locks) found.set(one.lock, one);
    } while (page.cursor !== '0');
    return lockRecords(page.last, [...found.values()], page);
  }

  async advice(): Promise<string[]> {
    this.#connection.reopen();
    const policy = evictionOf(await this.#connection.info('memory'));
    if (policy === undefined) return [];
    return [
      `Redis evicts any key when memory is short (maxmemory-policy ${policy}), also the locks, ` +
        `which are then lost while they are held. Use volatile-lru or noeviction.`,
    ];
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#releases.close()]);
  }

  async #isFree(lock: string): Promise<boolean> {
    const [answer] = await this.#connection.run(SCRIPTS.isLockFree, this.key, [lock]);
    return answer === 'free';
  }

  async #run(
    script: Script,
    lock: string,
    args: readonly (string | number | bigint)[],
  ): Promise<unknown[]> {
    this.#connection.reopen();
    const all = [lock, this.lossWindowMs, randomUUID(), ...args].map(String);
    return refuseOtherVersion(await this.#connection.run(script, this.key, all), this.place);
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

const QUERY_NAMES = ['namespace', 'prefix', 'lossWindowMs'] as const;

/** The locks of a URL, redis://localhost:6379/0?namespace=shop. */
export function locksFromUrl(url: string): RedisLocks {
  const parsed = parseRedisUrl(url);
  refuseQuery(parsed, url, QUERY_NAMES);
  const { query } = parsed;
  const windowMs = query.get('lossWindowMs');
  return new RedisLocks({
    redis: url,
    namespace: query.get('namespace'),
    prefix: query.get('prefix'),
    ...(windowMs !== undefined && { lossWindowMs: Number(windowMs) }),
  });
}
