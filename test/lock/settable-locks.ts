/**
 * Locks whose clock and losses the test controls: in memory, original or mutated, with any loss
 * window; and in rows, in SQL and in Redis. Also many clients that walk over them.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { isSnowflakeError } from '../../lib/errors.js';
import {
  checkAcquire,
  checkExtend,
  checkRelease,
  type LockStore,
  type HeldLock,
} from '../../lib/lock/lock-store.js';
import type { RowLocks } from '../../lib/lock/row-locks.js';
import type { LockMap } from '../models/lock-map.js';
import { RedisLocks } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import type { LockHarnessParts } from '../../lib/testing/index.js';
import {
  controlsOf,
  RowsByName,
  settableRedis,
  settableSql,
  StatesByName,
  type SettableSql,
} from '../contract/settable-stores.js';
import { LOSS_WINDOW_MS, StoreReadings, timed, withTime } from '../stores/timed-redis.js';

export type SettableLockStore = Omit<LockHarnessParts, 'expect'>;

export function memoryLockStore(
  Map_: new () => LockMap,
  lossWindowMs = LOSS_WINDOW_MS,
): SettableLockStore {
  const readings = new StoreReadings(lossWindowMs);
  const maps = new StatesByName(Map_);
  return {
    ...controlsOf(readings, maps),
    createStore: (name): LockStore => ({
      lossWindowMs,
      async acquire(request) {
        checkAcquire(request);
        return maps.of(name).acquire(request, readings.of(name));
      },
      async extend(request) {
        checkExtend(request);
        return maps.of(name).extend(request, readings.of(name));
      },
      async release(request) {
        checkRelease(request);
        maps.of(name).release(request, readings.of(name));
      },
      locks: async () => maps.of(name).locks(readings.clock.now()),
      notes: async () => maps.of(name).notes(),
    }),
  };
}

export function rowLockStore(
  RowLocks_: typeof RowLocks,
  lossWindowMs = LOSS_WINDOW_MS,
): SettableLockStore {
  const readings = new StoreReadings(lossWindowMs);
  const rows = new RowsByName(readings, lossWindowMs);
  return { ...controlsOf(readings, rows), createStore: (name) => new RowLocks_(rows.of(name)) };
}

export const LOCKS = 'contract_locks';

interface SettableSqlLocks extends SettableSql {
  store(query: SqlQuery, options: object): LockStore;
}

/** The original store, on a table. */
export function sqlLockStore(sql: SettableSqlLocks): SettableLockStore {
  const { controls, queryOf, optionsOf } = settableSql(sql, { table: LOCKS });
  return { ...controls, createStore: (name) => sql.store(queryOf(name), optionsOf(name)) };
}

/*
 * The library's Lua scripts for locks with the test's time and server, and the application's Redis
 * locks on such a client.
 */

export const TIMED_LOCK_LUA = {
  acquire: timed(SCRIPTS.acquireLock.lua),
  extend: timed(SCRIPTS.extendLock.lua),
  release: timed(SCRIPTS.releaseLock.lua),
};

/** By the hash that the store has. */
const TEXTS = new Map<string, string>([
  [SCRIPTS.acquireLock.sha1, TIMED_LOCK_LUA.acquire],
  [SCRIPTS.extendLock.sha1, TIMED_LOCK_LUA.extend],
  [SCRIPTS.releaseLock.sha1, TIMED_LOCK_LUA.release],
  [SCRIPTS.isLockFree.sha1, SCRIPTS.isLockFree.lua],
  [SCRIPTS.locks.sha1, withTime(SCRIPTS.locks.lua)],
]);

/** Close `opened` after each test. */
export function redisLockStore(redis: () => Redis, opened: RedisLocks[]): SettableLockStore {
  const { controls, optionsOf } = settableRedis(redis, 'locks', TEXTS);
  return {
    ...controls,
    createStore(name) {
      const store = new RedisLocks({ ...optionsOf(name), lossWindowMs: LOSS_WINDOW_MS });
      opened.push(store);
      return store;
    },
  };
}

// Many clients at one store. Each takes locks, extends, keeps or abandons them, and releases them.
// The test's clock decides who holds a lock, as clients use it for their deadlines.

export interface LockWalk {
  readonly stores: readonly LockStore[];
  readonly clientCount: number;
  readonly lockCount: number;
  readonly ttlMs: number;
  /**
   * The minimum length. The walk continues until it has enough results, since a busy machine takes
   * longer.
   */
  readonly lastsMs: number;
  readonly isEnough?: (report: WalkReport) => boolean;
  readonly seed: number;
}

/** The results of the walk. The first two must stay empty. */
export interface WalkReport {
  readonly twoHolders: string[];
  readonly fallenTokens: string[];
  grantCount: number;
  extendedCount: number;
  forgottenCount: number;
  heldCount: number;
  failureCount: number;
}

interface Hold {
  readonly holder: string;
  endsAtMs: number;
}

export async function walkLocks(walk: LockWalk): Promise<WalkReport> {
  const report: WalkReport = {
    twoHolders: [],
    fallenTokens: [],
    grantCount: 0,
    extendedCount: 0,
    forgottenCount: 0,
    heldCount: 0,
    failureCount: 0,
  };
  const oracle = new LockOracle(report);
  const endMs = performance.now() + walk.lastsMs;
  const { isEnough = () => true } = walk;
  const isOver = () => performance.now() >= endMs && isEnough(report);
  const clients = Array.from({ length: walk.clientCount }, (_, at) =>
    clientOf(walk, { at, isOver, oracle, report }),
  );
  await Promise.all(clients);
  return report;
}

/** The holders of locks, by their own deadlines. */
export class LockOracle {
  private readonly holds = new Map<string, Hold>();
  private readonly tokens = new Map<string, bigint>();

  constructor(private readonly report: Pick<WalkReport, 'twoHolders' | 'fallenTokens'>) {}

  granted({ lock, holder, token }: HeldLock, endsAtMs: number): void {
    const now = performance.now();
    const other = this.holds.get(lock);
    // The holder no longer considers it held.
    if (endsAtMs <= now) return;
    if (other !== undefined && other.holder !== holder && other.endsAtMs > now) {
      this.report.twoHolders.push(`${lock}: ${holder} beside ${other.holder}`);
    }
    this.holds.set(lock, { holder, endsAtMs });
    const last = this.tokens.get(lock) ?? 0n;
    if (token <= last) this.report.fallenTokens.push(`${lock}: ${token} after ${last}`);
    this.tokens.set(lock, token > last ? token : last);
  }

  extended({ lock, holder }: HeldLock, endsAtMs: number): void {
    const own = this.holds.get(lock);
    if (own?.holder === holder) own.endsAtMs = endsAtMs;
    else if (endsAtMs > performance.now()) this.report.twoHolders.push(`${lock}: ${holder} again`);
  }

  ended({ lock, holder }: HeldLock): void {
    if (this.holds.get(lock)?.holder === holder) this.holds.delete(lock);
  }
}

interface ClientParts {
  readonly at: number;
  readonly isOver: () => boolean;
  readonly oracle: LockOracle;
  readonly report: WalkReport;
}

async function clientOf(walk: LockWalk, parts: ClientParts): Promise<void> {
  const random = new SeededRandom(walk.seed * 1000 + parts.at);
  const store = walk.stores[parts.at % walk.stores.length]!;
  while (!parts.isOver()) {
    try {
      await oneTurn(store, walk, { ...parts, random });
    } catch (error) {
      if (!isSnowflakeError(error)) throw error;
      parts.report.failureCount++;
      // Like a client that tries again.
      await sleep(random.next() * 20);
    }
  }
}

async function oneTurn(
  store: LockStore,
  { lockCount, ttlMs }: LockWalk,
  { oracle, report, random }: ClientParts & { readonly random: SeededRandom },
): Promise<void> {
  const lock = `lock:${Math.floor(random.next() * lockCount)}`;
  const holder = randomUUID();
  const askedAtMs = performance.now();
  const who = { lock, holder, label: 'walk' };
  const answer = await store.acquire({ ...who, ttlMs, longestMs: ttlMs, have: 0n });
  if (answer.status !== 'ok') {
    if (answer.status === 'held') report.heldCount++;
    // The pace of a waiting client.
    await sleep(Math.min(random.next() * 10, answer.status === 'wait' ? answer.waitMs : 10));
    return;
  }
  report.grantCount++;
  const held = { lock, holder, token: answer.token };
  let endsAtMs = askedAtMs + ttlMs;
  oracle.granted(held, endsAtMs);
  while (random.next() < 0.4) {
    // The work under the lock.
    await sleep(random.next() * ttlMs * 0.6);
    const extendedAtMs = performance.now();
    // A late client no longer considers its lock held.
    if (extendedAtMs >= endsAtMs) return oracle.ended(held);
    const again = await store.extend({ ...held, ttlMs });
    if (again.status !== 'ok') return oracle.ended(held);
    report.extendedCount++;
    endsAtMs = extendedAtMs + ttlMs;
    oracle.extended(held, endsAtMs);
  }
  if (random.next() < 0.1) return void report.forgottenCount++;
  oracle.ended(held);
  await store.release(held);
}
