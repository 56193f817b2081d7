/**
 * Locks in etcd: the public API. It uses the JSON gateway, so it requires no etcd client. `close()`
 * closes its connections.
 */
import { SnowflakeError } from '../../errors.js';
import {
  checkAcquire,
  checkExtend,
  checkRelease,
  type AcquireAnswer,
  type AcquireRequest,
  type ExtendAnswer,
  type ExtendRequest,
  type HeldLock,
  type LockGrant,
  type LockNote,
  type LockRecord,
  type LockStore,
  type ReleaseRequest,
} from '../../lock/lock-store.js';
import { Releases, type ReleaseMessages } from '../../lock/releases.js';
import { CasRetry } from '../../rows/cas-retry.js';
import { EtcdClient, recordOf } from './etcd-client.js';
import { EtcdLeases, LockKeys, type EtcdLockHeader } from './etcd-lock-keys.js';
import {
  EtcdLockTransactions,
  type Asked,
  type Found,
  type FoundLock,
  type Known,
} from './etcd-lock-transactions.js';
import { etcdAdvice, EtcdMembers } from './etcd-members.js';
import { optionsOfUrl, settingsOf } from './etcd-options.js';
import { fromBase64, toBase64 } from './etcd-rows.js';
import type { EtcdSupportOptions } from './etcd.support.js';

/** The options of the support, except those for clocks; or a URL with all of them. */
export type EtcdLockOptions =
  Omit<EtcdSupportOptions, 'clockDifferenceMs'> | { readonly url: string };

/**
 * Locks in etcd. The store rounds a TTL up to whole seconds, and to the time of an election, 2 s by
 * default. A killed holder's lock stays as long.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error in the options.
 * @example
 * ```ts
 * import { etcdLocks } from 'nestjs-snowflake/etcd';
 *
 * const endpoints = ['https://etcd-0:2379', 'https://etcd-1:2379', 'https://etcd-2:2379'];
 * const store = etcdLocks({ endpoints, namespace: 'shop' });
 * ```
 */
export function etcdLocks(options: EtcdLockOptions): LockStore {
  // A string passed instead may be a URL with a password.
  if (!Object.hasOwn(Object(options), 'url')) return locksOf(options);
  const { url, ...more } = options as { readonly url: unknown };
  if (typeof url === 'string' && Object.keys(more).length === 0) return locksFromUrl(url);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'Expected `url` to be text, and all options to be in it: etcd://host:2379?namespace=shop.',
  );
}

/** The locks of a URL, e.g. etcd://user:password@a:2379,b:2379,c:2379?namespace=shop. */
export function locksFromUrl(url: string): LockStore {
  return locksOf(optionsOfUrl(url));
}

function locksOf(options: unknown): LockStore {
  const settings = settingsOf(options);
  const { namespace, failoverWindowMs } = settings;
  return new EtcdLocks(new EtcdClient(settings), namespace, failoverWindowMs);
}

/*
 * Locks in etcd: a lock is a key with a lease, created if absent. Its token is the revision of its
 * creation.
 *
 * Guarantee: the full LockStore contract. Leases decide which process holds a lock, so no wall
 * clock matters. A majority writes every grant and every extension, so an isolated member cannot
 * grant a lock.
 */

/** Undefined if another process was faster, or if the call had to wait for one. */
type Attempt<T> = Promise<{ readonly answer: T } | undefined>;

class EtcdLocks implements LockStore {
  readonly location: string;
  readonly lossWindowMs: number;
  readonly #client: EtcdClient;
  readonly #keys: LockKeys;
  readonly #leases: EtcdLeases;
  readonly #transactions: EtcdLockTransactions;
  readonly #turns: CasRetry;
  readonly #releases: Releases;

  constructor(client: EtcdClient, namespace: string, lossWindowMs: number) {
    const keys = new LockKeys(namespace);
    const leases = new EtcdLeases(client);
    this.#client = client;
    this.#keys = keys;
    this.#leases = leases;
    this.#transactions = new EtcdLockTransactions({ client, keys, leases, lossWindowMs });
    this.location = `etcd at ${client.where}, ${keys.prefix}`;
    this.lossWindowMs = lossWindowMs;
    this.#turns = new CasRetry(this.location);
    this.#releases = new Releases(new EtcdMessages(client, keys));
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    return this.#turns.run(request.lock, () => this.#acquired(request));
  }

  async extend(request: ExtendRequest): Promise<ExtendAnswer> {
    checkExtend(request);
    return this.#turns.run(request.lock, () => this.#extended(request));
  }

  async release(request: ReleaseRequest): Promise<void> {
    checkRelease(request);
    await this.#turns.run(request.lock, () => this.#released(request));
  }

  /** The caller watches the time; a missed release message costs no more than that. */
  untilReleased(lock: string, _limitMs: number, signal: AbortSignal): Promise<void> {
    return this.#releases.until(this.#keys.lock(lock), signal, async () => {
      const { locks } = await this.#transactions.read(lock);
      return locks.length === 0;
    });
  }

  async locks(): Promise<LockRecord[]> {
    const { header, locks } = await this.#transactions.read();
    if (header === undefined) return [];
    const records = await Promise.all(
      locks.map(async ({ name: lock, label, token, sinceMs, lease, holder }) => {
        const leftMs = await this.#leases.leftMs(lease);
        return { lock, label, token, sinceMs, leftMs, isKept: holder === '' };
      }),
    );
    return records
      .filter(({ leftMs }) => leftMs > 0)
      .toSorted((a, b) => (a.lock < b.lock ? -1 : 1));
  }

  notes(): Promise<LockNote[]> {
    return this.#transactions.notes();
  }

  async advice(): Promise<string[]> {
    return etcdAdvice(await new EtcdMembers(this.#client).reports(this.#keys.header), 'locks');
  }

  async close(): Promise<void> {
    await this.#releases.close();
    await this.#client.close();
  }

  async #acquired(request: AcquireRequest): Attempt<AcquireAnswer> {
    const { lock, holder, ttlMs, longestMs } = request;
    const found = await this.#transactions.read(lock);
    const isLost = !isKnown(found) || (await this.#transactions.hasForgotten(found, lock, request));
    if (isLost) return this.#begin(found, request);
    const { header, wait, raise, locks } = found;
    const [held] = locks;
    if (longestMs > header.longestMs) return this.#transactions.raised(found, longestMs);
    const isOfNow = held?.era === header.era;
    const isMine = isOfNow && held.holder === holder;
    // A holder from before the loss will learn of it. A lock of this attempt may be lost as well.
    if (wait !== undefined && (isMine || !isOfNow)) return this.#waiting(wait.lease);
    if (isMine) return this.#again(found, request);
    if (held !== undefined) return this.#refused(held);
    if (raise !== undefined && ttlMs > header.provenMs) return this.#waiting(raise.lease);
    const token = await this.#transactions.grant(found, request);
    return token === undefined ? undefined : { answer: grant(header, token, request, found) };
  }

  /** The same attempt calls again, because the response was lost. */
  async #again(found: Known, { ttlMs }: AcquireRequest): Attempt<AcquireAnswer> {
    const { header, locks } = found;
    const [held] = locks;
    if (!(await this.#transactions.prolonged(found, held!, { ttlMs }))) return undefined;
    return { answer: grant(header, held!.token, { ttlMs }, found) };
  }

  async #extended(request: ExtendRequest): Attempt<ExtendAnswer> {
    const { lock, token: have, ttlMs, highest, clocks } = request;
    const found = await this.#transactions.read(lock);
    const lost = { answer: { status: 'lost' } } as const;
    if (found.headerText === undefined) return lost;
    const [held] = found.locks;
    const isHeld = held !== undefined && held.era === found.header?.era && isOf(held, request);
    // A lock with an old grant may be gone by now, which proves nothing.
    const asked = { longestMs: ttlMs, have, highest, clocks };
    const isLost =
      held !== undefined && (await this.#transactions.hasForgotten(found, lock, asked));
    if (!isKnown(found) || isLost) return this.#begin(found, asked);
    if (!isHeld) return lost;
    const { header } = found;
    if (!(await this.#transactions.prolonged(found, held, request))) return undefined;
    return { answer: grant(header, have, request) };
  }

  async #released(request: ReleaseRequest): Attempt<undefined> {
    const { lock, keepMs = 0 } = request;
    const done = { answer: undefined };
    const ended = async (lease: string) => {
      await this.#transactions.ended(lock, lease);
      return done;
    };
    const own = keepMs > 0 ? undefined : this.#transactions.ownLease(request);
    if (own !== undefined) return ended(own);
    const found = await this.#transactions.read(lock);
    const [held] = found.locks;
    if (held === undefined || !isOf(held, request)) return done;
    if (!isKnown(found)) return this.#begin(found, { longestMs: held.leaseMs, have: held.token });
    if (keepMs > 0) {
      const rest = { ...held, holder: '', leaseMs: 0 };
      const kept = await this.#transactions.prolonged(found, rest, { ttlMs: keepMs });
      return kept ? done : undefined;
    }
    return ended(held.lease);
  }

  async #begin(found: Found, asked: Asked) {
    await this.#transactions.beginRun(found, asked);
    return undefined;
  }

  async #waiting(lease: string) {
    return {
      answer: { status: 'wait', waitMs: Math.max(1, await this.#leases.leftMs(lease)) } as const,
    };
  }

  /** A lease that has just ended still has its key for a moment, so the caller retries. */
  async #refused({ label, lease, token }: FoundLock) {
    const leftMs = Math.max(1, await this.#leases.leftMs(lease));
    return { answer: { status: 'held', label, leftMs, token } as const };
  }
}

/*
 * The events of locks that end, by a release or by time. One watch covers all of them, and is open
 * while a caller waits.
 *
 * Guarantee: nothing depends on the watch. If it ends or cannot begin, all waiting callers retry.
 */

class EtcdMessages implements ReleaseMessages {
  readonly #client: EtcdClient;
  readonly #range: { readonly key: string; readonly range_end: string };
  readonly #channels = new Set<string>();
  #message: (channel: string) => void = () => undefined;
  #ended: () => void = () => undefined;
  #watch: Promise<() => void> | undefined;

  constructor(client: EtcdClient, { held }: LockKeys) {
    this.#client = client;
    this.#range = { key: toBase64(held.from), range_end: toBase64(held.to) };
  }

  onMessage(message: (channel: string) => void, ended: () => void): void {
    [this.#message, this.#ended] = [message, ended];
  }

  async subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    await (this.#watch ??= this.#begin());
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    if (this.#channels.size === 0) await this.close();
  }

  async close(): Promise<void> {
    const watch = this.#watch;
    this.#watch = undefined;
    // A watch that has not begun yet ends when it begins.
    void watch?.then(
      (end) => end(),
      () => undefined,
    );
  }

  #begin(): Promise<() => void> {
    const over = () => {
      if (this.#watch !== watch) return;
      this.#watch = undefined;
      this.#channels.clear();
      this.#ended();
    };
    const told = (events: readonly unknown[]) => {
      for (const event of events) {
        const { key } = recordOf(recordOf(event)['kv']);
        if (typeof key === 'string') this.#message(fromBase64(key));
      }
    };
    const create = { ...this.#range, filters: ['NOPUT'] };
    const watch = this.#client.watch({ create, told, ended: over });
    watch.catch(over);
    return watch;
  }
}

function isKnown(found: Found): found is Known {
  return found.header !== undefined;
}

function isOf(
  held: FoundLock,
  { holder, token }: Pick<HeldLock, 'holder'> & Partial<HeldLock>,
): boolean {
  return held.holder === holder && held.token === (token ?? held.token);
}

function grant(
  { era }: EtcdLockHeader,
  token: bigint,
  { ttlMs }: Pick<ExtendRequest, 'ttlMs'>,
  found?: Found,
): LockGrant {
  const answer = { status: 'ok', token, ttlMs, era } as const;
  if (found === undefined) return answer;
  const { note } = found;
  const { timeMs } = found.answer;
  return { ...answer, nowMs: timeMs, timeMs, ...(note !== undefined && { note }) };
}
