/**
 * Locks in etcd: the public API. It uses the JSON gateway, so it requires no etcd client. `close()`
 * closes its connections.
 */
import { SnowflakeError } from '../../errors.js';
import { firstTokenAt } from '../../lock/lock-snapshot.js';
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
  type Seen,
} from '../../lock/lock-store.js';
import { Releases, type ReleaseMessages } from '../../lock/releases.js';
import { CasRetry } from '../../rows/cas-retry.js';
import { formText } from '../../rows/row-store.js';
import { answerHeader, EtcdClient, recordOf } from './etcd-client.js';
import { hasRefusal } from './etcd-errors.js';
import {
  EtcdLeases,
  lockHeaderIn,
  lockKeys,
  lockValueIn,
  type EtcdLease,
  type EtcdLockHeader,
  type EtcdLockValue,
} from './etcd-lock-keys.js';
import { etcdAdvice, EtcdMembers, type EtcdFound } from './etcd-members.js';
import { optionsOfUrl, settingsOf } from './etcd-options.js';
import {
  foundBy,
  fromBase64,
  get,
  has,
  isUnchanged,
  past,
  put,
  toBase64,
  type KeyValue,
} from './etcd-rows.js';
import type { EtcdSupportOptions } from './etcd.support.js';
import type { Fate } from './restore-detector.js';

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
 * clock matters, and an isolated member cannot grant or extend a lock. If etcd may have lost
 * anything, a new run begins before any caller continues. The new run grants nothing until all lost
 * locks have ended, and its tokens are higher than theirs. The holder of a lock keeps it through an
 * election, and loses it if data was lost. Each write compares everything that it depends on, and
 * does not count in a run that may have lost it. A lease without a key is revoked.
 */

/** The header of a run that continues, and its text as stored. */
interface Known {
  readonly header: EtcdLockHeader;
  readonly headerText: string;
}

interface FoundLock extends HeldLock {
  readonly row: KeyValue;
  readonly value: EtcdLockValue;
}

/** A lock at one revision, with everything that it depends on. */
interface Found extends Partial<Known> {
  readonly seen: EtcdFound;
  readonly fate: Fate;
  readonly wait: KeyValue | undefined;
  readonly raise: KeyValue | undefined;
  readonly locks: readonly FoundLock[];
  /** The note of the lock, if one lock was read and has one. */
  readonly note: KeyValue | undefined;
}

/** A lock that this process holds, unless the response to a write of it was lost. */
interface Own extends HeldLock {
  readonly lease: EtcdLease;
  /** The run of etcd that granted the lease. */
  readonly server: string;
}

/** The knowledge of the caller. */
type Asked = Seen & { readonly longestMs: number; readonly have: bigint };

/** Undefined if another process was faster, or if the call had to wait for one. */
type Attempt<T> = Promise<{ readonly answer: T } | undefined>;

/** A process with more locks must read some of them before it releases them. */
const KNOWN_COUNT_MAX = 1024;

/** A new leader may end a longer lease earlier, by a checkpoint from before a keep-alive. */
const KEPT_ALIVE_MS_MAX = 300_000;

class EtcdLocks implements LockStore {
  readonly location: string;
  readonly lossWindowMs: number;
  readonly #client: EtcdClient;
  readonly #keys: ReturnType<typeof lockKeys>;
  readonly #leases: EtcdLeases;
  readonly #members: EtcdMembers;
  readonly #turns: CasRetry;
  readonly #releases: Releases;
  readonly #own = new Map<string, Own>();
  /** The last holder that was refused a lock, until another one gets it at once. */
  readonly #refused = new Map<string, string>();
  #known: Known | undefined;

  constructor(client: EtcdClient, namespace: string, lossWindowMs: number) {
    this.#client = client;
    this.#keys = lockKeys(namespace);
    this.#leases = new EtcdLeases(client);
    this.#members = new EtcdMembers(client);
    this.location = `etcd at ${client.where}, ${this.#keys.prefix}`;
    this.lossWindowMs = lossWindowMs;
    this.#turns = new CasRetry(this.location);
    this.#releases = new Releases(new EtcdMessages(client, this.#keys.held));
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    const { lock, holder } = request;
    const answer = await this.#turns.run(lock, (_, count) => this.#acquired(request, count));
    if (answer.status !== 'ok') remember(this.#refused, lock, holder);
    else if (this.#refused.get(lock) !== holder) this.#refused.delete(lock);
    return answer;
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
      const { locks } = await this.#read(lock);
      return locks.length === 0;
    });
  }

  async locks(): Promise<LockRecord[]> {
    const { header, locks } = await this.#read();
    if (header === undefined) return [];
    const records = await Promise.all(
      locks.map(async ({ lock, token, row, value: { label, sinceMs, holder } }) => {
        const leftMs = await this.#leases.leftMs(row.lease);
        return { lock, label, token, sinceMs, leftMs, isKept: holder === '' };
      }),
    );
    return records.filter(({ leftMs }) => leftMs > 0);
  }

  async notes(): Promise<LockNote[]> {
    const [notes = []] = (await this.#members.ask([get(...this.#keys.notes)])).lists;
    return notes.map(({ key, value: note }) => ({ lock: this.#keys.nameOf(key), note }));
  }

  async advice(): Promise<string[]> {
    return etcdAdvice(await this.#members.reports(this.#keys.header), 'locks');
  }

  async close(): Promise<void> {
    await this.#releases.close();
    await this.#client.close();
  }

  /** If the lock is likely free, it is granted by the header of the last read. */
  async #acquired(request: AcquireRequest, count: number): Attempt<AcquireAnswer> {
    const { lock, holder, ttlMs, longestMs } = request;
    const known = this.#known;
    const isLikelyFree = count === 0 && !this.#refused.has(lock);
    if (isLikelyFree && known !== undefined && longestMs <= known.header.longestMs) {
      return this.#granted(known, request, request.have);
    }
    const found = await this.#read(lock);
    if (!isKnown(found) || (await this.#hasForgotten(found, lock, request))) {
      return this.#begin(found, request);
    }
    const { header, wait, raise, locks } = found;
    const [held] = locks;
    if (longestMs > header.longestMs) return this.#raised(found, longestMs);
    const isOfNow = held?.value.era === header.era;
    const isMine = isOfNow && held.holder === holder;
    // A holder from before the loss will learn of it. A lock of this attempt may be lost as well.
    if (wait !== undefined && (isMine || !isOfNow)) return this.#waiting(wait);
    if (isMine) {
      // The same attempt calls again, because the response was lost.
      const isHeld = await this.#prolonged(found, held, request);
      return isHeld ? { answer: grantOf(header, held.token, ttlMs, found) } : undefined;
    }
    if (held !== undefined) {
      const { row, token, value } = held;
      // A lease that has just ended still has its key for a moment, so the caller retries.
      const leftMs = Math.max(1, await this.#leases.leftMs(row.lease));
      return { answer: { status: 'held', label: value.label, leftMs, token } };
    }
    if (raise !== undefined && ttlMs > header.provenMs) return this.#waiting(raise);
    return this.#granted(found, request);
  }

  async #extended(request: ExtendRequest): Attempt<ExtendAnswer> {
    const { lock, token: have, ttlMs, highest, clocks, note } = request;
    const own = this.#own.get(lock);
    const isSame = isOf(own, request) && ttlMs <= own.lease.ms && note === undefined;
    const isShort = isSame && own.lease.ms <= KEPT_ALIVE_MS_MAX;
    const isKeptAlive = isShort && (await this.#leases.isKeptAlive(own.lease.id));
    // Read after the keep-alive: a leader that was replaced confirms one, but no read of its run.
    const found = await this.#read(lock);
    const lost = { answer: { status: 'lost' } } as const;
    if (found.headerText === undefined) return lost;
    const [held] = found.locks;
    // A lock with an old grant may be gone by now, which proves nothing.
    const asked = { longestMs: ttlMs, have, highest, clocks };
    const isLost =
      !isKnown(found) || (held !== undefined && (await this.#hasForgotten(found, lock, asked)));
    if (isLost) return this.#begin(found, asked);
    const { header } = found;
    if (!isOf(held, request) || held.value.era !== header.era) return lost;
    const isConfirmed = own?.server === header.server && own.lease.id === held.row.lease;
    const isHeld = (isKeptAlive && isConfirmed) || (await this.#prolonged(found, held, request));
    return isHeld ? { answer: grantOf(header, have, ttlMs) } : undefined;
  }

  async #released(request: ReleaseRequest): Attempt<unknown> {
    const { lock, keepMs = 0 } = request;
    const done = { answer: undefined };
    const own = this.#own.get(lock);
    let lease = own?.lease.id;
    if (keepMs > 0 || lease === undefined || !isOf(own, request)) {
      const found = await this.#read(lock);
      const [held] = found.locks;
      if (!isOf(held, request)) return done;
      const { row, token: have, value } = held;
      if (!isKnown(found)) return this.#begin(found, { longestMs: value.leaseMs, have });
      const rest = { ...held, value: { ...value, holder: '', leaseMs: 0 } };
      if (keepMs > 0) {
        return (await this.#prolonged(found, rest, { ttlMs: keepMs })) ? done : undefined;
      }
      lease = row.lease;
    }
    await this.#leases.revoked(lease);
    this.#own.delete(lock);
    return done;
  }

  async #waiting({ lease }: KeyValue) {
    const waitMs = Math.max(1, await this.#leases.leftMs(lease));
    return { answer: { status: 'wait', waitMs } as const };
  }

  /** @param name of one lock; if absent, all locks are read */
  async #read(name?: string): Promise<Found> {
    const { header: key, wait, raise, held, lock, note } = this.#keys;
    const locks = name === undefined ? [get(...held)] : [get(lock(name)), get(note(name))];
    const seen = await this.#members.ask([get(key), get(wait), get(raise), ...locks]);
    const [[kept] = [], [waiting] = [], [raised] = [], rows = [], [left] = []] = seen.lists;
    const stored = kept && lockHeaderIn(kept.value);
    const fate = stored === undefined ? 'lost' : await this.#members.fate(stored.server, seen);
    const same = fate === 'same' && { header: stored!, headerText: kept!.value };
    this.#known = same || undefined;
    return {
      seen,
      fate,
      ...(kept && { headerText: kept.value }),
      ...same,
      wait: waiting,
      raise: raised,
      locks: rows.map((row) => this.#lockIn(row)),
      note: left,
    };
  }

  #lockIn(row: KeyValue): FoundLock {
    const value = lockValueIn(row.value);
    const token = value.tokenBase + BigInt(row.createRevision);
    return { lock: this.#keys.nameOf(row.key), holder: value.holder, token, row, value };
  }

  /** True if the caller has a token of this lock that this run has never granted. */
  async #hasForgotten(
    { header, seen, locks: [held] }: Found & Known,
    name: string,
    { have: token, highest = 0n }: Pick<Asked, 'have' | 'highest'>,
  ): Promise<boolean> {
    const latest = header.tokenBase + BigInt(seen.header.revision);
    // A token above the current revision was granted by a run that etcd has lost.
    if (highest > latest) return true;
    if (token <= header.forgottenTo) return false;
    if (held !== undefined) return token > held.token;
    if (token > latest) return true;
    const at = token - header.tokenBase;
    try {
      const [[row] = []] = (await this.#members.ask([past(this.#keys.lock(name), at)])).lists;
      return row?.createRevision !== Number(at);
    } catch (error) {
      // No evidence is left, so the token proves no loss.
      if (hasRefusal(error, 'compacted')) return false;
      throw error;
    }
  }

  /** Does nothing if another process was faster; the caller reads again. */
  async #begin({ seen, fate, headerText: before }: Found, asked: Asked): Promise<undefined> {
    const { header: key, wait } = this.#keys;
    const { now, server } = await this.#members.newRun(seen, [get(key)]);
    const at = BigInt(now.header.revision);
    const old = before === undefined ? undefined : lockHeaderIn(before);
    const longestMs = Math.max(old?.longestMs ?? 0, asked.longestMs);
    // The time of a lost run, as far as known, is above all its tokens.
    const { have, highest = 0n, clocks } = asked;
    const times = [now.answer.timeMs, clocks?.nowMs ?? 0].map(firstTokenAt);
    const known = [...times, have, highest].map((token) => token - at);
    const tokenBase = known.reduce((a, b) => (a > b ? a : b), old?.tokenBase ?? 0n);
    const header = {
      server,
      era: (old?.era ?? 0) + (fate === 'elected' ? 0 : 1),
      longestMs,
      provenMs: old?.provenMs ?? 0,
      tokenBase,
      forgottenTo: tokenBase + at,
    };
    const waitMs = longestMs + this.lossWindowMs;
    return this.#headerWritten(before, header, [[wait, waitMs]]);
  }

  /** Records a longer TTL before it is granted. */
  #raised({ header, headerText, raise, wait }: Found & Known, longestMs: number) {
    const provenMs = raise === undefined ? header.longestMs : header.provenMs;
    const { lossWindowMs } = this;
    // Locks that the last loss erased may end later than was known then.
    const waitMs = wait === undefined ? 0 : longestMs + lossWindowMs;
    return this.#headerWritten(headerText, { ...header, longestMs, provenMs }, [
      [this.#keys.raise, lossWindowMs],
      [this.#keys.wait, waitMs],
    ]);
  }

  /** Writes the header, and keys that end after some time, unless another process was faster. */
  async #headerWritten(
    before: string | undefined,
    header: EtcdLockHeader,
    ending: readonly (readonly [key: string, ms: number])[],
  ): Promise<undefined> {
    const success = [put(this.#keys.header, formText(header))];
    const granted: string[] = [];
    for (const [key, ms] of ending.filter(([, duration]) => duration > 0)) {
      const { id } = await this.#leases.grant(ms);
      granted.push(id);
      success.push(put(key, header.server, id));
    }
    const body = { compare: [has(this.#keys.header, before)], success };
    const { fields } = await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    if (fields['succeeded'] === true) return;
    await Promise.all(granted.map((id) => this.#leases.dropped(id)));
  }

  /** @param have a token that the same transaction checks; absent if a read has checked it */
  async #granted(known: Known, request: AcquireRequest, have = 0n): Attempt<LockGrant> {
    const { lock, holder, label, ttlMs, highest = 0n } = request;
    const { server, era, tokenBase, provenMs, forgottenTo } = known.header;
    const { wait, raise, lock: keyOf, note: noteOf } = this.#keys;
    const key = keyOf(lock);
    const at = have - tokenBase;
    const evidence = have > forgottenTo ? [past(key, at)] : [];
    const lease = await this.#leases.grant(ttlMs);
    const value = { era, holder, label, sinceMs: lease.timeMs, leaseMs: lease.ms, tokenBase };
    const absent = ttlMs > provenMs ? [wait, key, raise] : [wait, key];
    const compare = absent.map((name) => isUnchanged(name));
    const success = [put(key, formText(value), lease.id), get(noteOf(lock)), ...evidence];
    const seen = await this.#written(known, lease, compare, success);
    if (seen === undefined) return undefined;
    const token = tokenBase + BigInt(seen.header.revision);
    const [[note] = [], [proof] = []] = seen.lists;
    // The caller reads again, and begins a new run.
    const isForgotten = evidence.length > 0 && proof?.createRevision !== Number(at);
    if (isForgotten || highest > token) return this.#leases.dropped(lease.id);
    remember(this.#own, lock, { lock, holder, token, lease, server });
    return { answer: grantOf(known.header, token, ttlMs, { seen, note }) };
  }

  /**
   * Moves the lock to a new lease, which a majority grants now; the old lease then has no key.
   *
   * @returns whether no other process was faster
   */
  async #prolonged(
    known: Known,
    { lock, token, row, value: before }: FoundLock,
    { ttlMs, note }: Pick<ExtendRequest, 'ttlMs' | 'note'>,
  ): Promise<boolean> {
    this.#own.delete(lock);
    const lease = await this.#leases.grant(Math.max(ttlMs, before.leaseMs));
    const value = { ...before, leaseMs: lease.ms };
    const compare = [isUnchanged(row.key, row.modRevision)];
    const notes = note === undefined ? [] : [put(this.#keys.note(lock), note)];
    const success = [put(row.key, formText(value), lease.id), ...notes];
    if ((await this.#written(known, lease, compare, success)) === undefined) return false;
    await this.#leases.dropped(row.lease);
    const { server } = known.header;
    remember(this.#own, lock, { lock, holder: value.holder, token, lease, server });
    return true;
  }

  /** Undefined if a dependency had changed, or if the run may have lost the write. */
  async #written(
    { header: { server }, headerText }: Known,
    lease: EtcdLease,
    compare: readonly object[],
    success: readonly object[],
  ): Promise<EtcdFound | undefined> {
    const mark = this.#members.mark();
    const body = { compare: [has(this.#keys.header, headerText), ...compare], success };
    const answer = await this.#client
      .ask({ path: 'kv/txn', body, isWrite: true })
      .catch((error: unknown) => {
        if (!hasRefusal(error, 'no-lease', 'compacted')) throw error;
      });
    if (answer?.fields['succeeded'] !== true) return this.#leases.dropped(lease.id);
    return this.#client.read(answer, async () => {
      const seen = { answer, header: answerHeader(answer), mark, lists: foundBy(answer, success) };
      return (await this.#members.fate(server, seen)) === 'same' ? seen : undefined;
    });
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
  readonly #create: object;
  readonly #channels = new Set<string>();
  #message: (channel: string) => void = () => undefined;
  #ended: () => void = () => undefined;
  #watch: Promise<() => void> | undefined;

  constructor(client: EtcdClient, [from, to]: readonly [string, string]) {
    this.#client = client;
    this.#create = { key: toBase64(from), range_end: toBase64(to), filters: ['NOPUT'] };
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
    const watch = this.#client.watch({ create: this.#create, told, ended: over });
    watch.catch(over);
    return watch;
  }
}

function isKnown(found: Found): found is Found & Known {
  return found.header !== undefined;
}

function isOf<T extends HeldLock>(
  held: T | undefined,
  { holder, token }: Omit<ReleaseRequest, 'keepMs'>,
): held is T {
  return held?.holder === holder && held.token === (token ?? held.token);
}

function grantOf(
  { era }: EtcdLockHeader,
  token: bigint,
  ttlMs: number,
  found?: Pick<Found, 'seen' | 'note'>,
): LockGrant {
  const answer = { status: 'ok', token, ttlMs, era } as const;
  if (found === undefined) return answer;
  const { timeMs } = found.seen.answer;
  const { value: note } = found.note ?? {};
  return { ...answer, nowMs: timeMs, timeMs, ...(note !== undefined && { note }) };
}

function remember<T>(known: Map<string, T>, lock: string, value: T): void {
  if (known.size === KNOWN_COUNT_MAX) known.clear();
  known.set(lock, value);
}
