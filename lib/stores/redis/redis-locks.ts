/**
 * Locks in Redis: one hash for each namespace, one atomic script for each operation. The scripts
 * apply the rules of lib/lock with the clock of Redis. Waiting callers are notified of releases
 * over a separate connection.
 */
import {
  checkAcquire,
  checkExtend,
  checkRelease,
  type AcquireAnswer,
  type AcquireRequest,
  type ExtendAnswer,
  type ExtendRequest,
  type LockNote,
  type LockRecord,
  type LockStore,
  type ReleaseRequest,
  type StoreClocks,
} from '../../lock/lock-store.js';
import { lockRecords, type NamedLock } from '../../lock/lock-snapshot.js';
import { Releases } from '../../lock/releases.js';
import { numberIn } from '../../rows/row-store.js';
import { hashOptionsOf, messagesFrom, RedisHash, type RedisHashOptions } from './redis-options.js';
import { SCRIPTS } from './scripts.generated.js';

/** Options of redisLocks(). */
export interface RedisLocksOptions extends RedisHashOptions {
  /**
   * How long an old server may continue to grant locks after another one has taken over. Default
   * 2,000, and 18,000 for Sentinel and Cluster, where an old master may respond for a while.
   */
  readonly lossWindowMs?: number | undefined;
}

/** Each grant checks two other locks, and deletes them if they are no longer needed. */
const LOOKED_AT_COUNT = 2;

/** Locks in Redis, for the option `locks`; redisLocks() creates them. */
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

  get location(): string {
    return this.#hash.location;
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
    await this.#hash.change(SCRIPTS.releaseLock, request.lock, releaseArguments(request));
  }

  /** The caller watches the time; a lost message costs no more than that. */
  untilReleased(lock: string, _limitMs: number, signal: AbortSignal): Promise<void> {
    return this.#releases.until(`${this.key}:${lock}`, signal, () => this.#isFree(lock));
  }

  async locks(): Promise<LockRecord[]> {
    const pages = await this.#hash.readPages(SCRIPTS.locks, lockPage, ['l:']);
    // A page may repeat locks of an earlier one.
    const found = new Map(pages.flatMap(({ locks }) => locks.map((one) => [one.lock, one])));
    const { last, timeMs } = pages.at(-1)!;
    return lockRecords(last, [...found.values()], { timeMs });
  }

  async notes(): Promise<LockNote[]> {
    const pages = await this.#hash.readPages(SCRIPTS.locks, notePage, ['n:']);
    const found = new Map(pages.flatMap(({ notes }) => notes.map((one) => [one.lock, one])));
    return [...found.values()].toSorted((a, b) => (a.lock < b.lock ? -1 : 1));
  }

  advice(): Promise<string[]> {
    return this.#hash.advice(
      (policy) =>
        `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including ` +
        `the locks, which are then lost while they are held. Use volatile-lru or noeviction.`,
    );
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
 * @throws SnowflakeError CONFIG_INVALID for an invalid URL, name or window.
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

/*
 * The only place that turns the flat arrays of the lock scripts into answers.
 *
 * Guarantee: no other file of this store depends on the order of a script's reply.
 */

export function acquireAnswer(reply: readonly unknown[], ttlMs: number): AcquireAnswer {
  const [status, first, second, third = ''] = reply.map(String);
  const clocks = clocksIn(reply);
  if (status === 'held') {
    return { status, label: first!, leftMs: Number(second), token: BigInt(third), ...clocks };
  }
  if (status === 'wait') return { status, waitMs: Number(first), ...clocks };
  const note = third === '' ? {} : { note: third };
  const grant = { token: BigInt(first!), ttlMs, era: Number(second) };
  return { status: 'ok', ...grant, ...clocks, ...note };
}

export function extendAnswer(reply: readonly unknown[], ttlMs: number): ExtendAnswer {
  const [status, token, era] = reply.map(String);
  const clocks = clocksIn(reply);
  if (status === 'lost') return { status, ...clocks };
  return { status: 'ok', token: BigInt(token!), ttlMs, era: Number(era), ...clocks };
}

function clocksIn(reply: readonly unknown[]): StoreClocks {
  const [nowMs, timeMs] = reply.slice(4).map(Number);
  return { nowMs, timeMs };
}

type Arguments = readonly (string | number | bigint)[];

/**
 * The arguments of acquire.lua, after those of every script.
 *
 * @param lookedAt how many other locks to check for deletion
 */
export function acquireArguments(request: AcquireRequest, lookedAt: number): Arguments {
  const { label, ttlMs, longestMs, have, era = 0, highest = 0 } = request;
  return [...callerOf(request), label, ttlMs, longestMs, have, era, lookedAt, highest];
}

function callerOf({ holder, clocks }: ReleaseRequest): Arguments {
  return [holder, clocks?.wallMs ?? '', clocks?.nowMs ?? ''];
}

/** The arguments of extend.lua, after those of every script. */
export function extendArguments(request: ExtendRequest): Arguments {
  const { token, ttlMs, era = 0, highest = 0, note = '', settles = false } = request;
  return [...callerOf(request), token, ttlMs, era, highest, note, settles ? 1 : 0];
}

/** The arguments of release.lua, after those of every script. */
export function releaseArguments(request: ReleaseRequest): Arguments {
  const { token = '', keepMs = 0 } = request;
  return [...callerOf(request), token, keepMs];
}

const FIELDS = 2;
const LINE = /^(\d+)\|(\d{1,16})\|(\d{1,16})\|(\d{1,16})\|([^|]*)\|(.*)$/s;

/** A lock with an unreadable line is omitted: it is not granted either. */
function lockPage(reply: readonly unknown[]) {
  const [time, cursor = '0', lastTime, slew, ...rest] = reply.map(String);
  const locks: NamedLock[] = [];
  for (let at = 0; at < rest.length; at += FIELDS) {
    const [, digits, era, since, until, holder = '', label = ''] = LINE.exec(rest[at + 1]!) ?? [];
    const token = numberIn(digits);
    if (token === undefined) continue;
    const moment = { sinceMs: Number(since), untilMs: Number(until) };
    const row = { token, era: Number(era), holder, label, ...moment };
    locks.push({ lock: rest[at]!, row });
  }
  const last = { lastTimeMs: Number(lastTime), slewMs: Number(slew) };
  return { timeMs: Number(time), cursor, last, locks };
}

function notePage(reply: readonly unknown[]) {
  const [, cursor = '0', , , ...rest] = reply.map(String);
  const notes: LockNote[] = [];
  for (let at = 0; at < rest.length; at += FIELDS) {
    notes.push({ lock: rest[at]!, note: rest[at + 1]! });
  }
  return { cursor, notes };
}
