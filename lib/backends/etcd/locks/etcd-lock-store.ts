/**
 * Locks in etcd: a lock is a key that a lease holds, made where there is none; its token is the
 * revision at which it was made.
 *
 * Promise: the contract of LockStore. Who holds a lock is decided by leases, so by no wall clock;
 * every grant and every extension is written by a majority, so that no member that was cut off can
 * give one.
 */
import { checkAcquire, checkExtend, checkRelease } from '../../../lock/check-request.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  HeldLock,
  LockGrant,
  LockRecord,
  LockStore,
  ReleaseRequest,
} from '../../../lock/lock-store.js';
import { RowTurns } from '../../../registry/row-turns.js';
import type { EtcdClient } from '../connection/etcd-client.js';
import { etcdLockAdvice } from './etcd-lock-advice.js';
import { EtcdLeases } from './etcd-leases.js';
import {
  EtcdLockReader,
  type Asked,
  type Found,
  type FoundLock,
  type Known,
} from './etcd-lock-reader.js';
import { LockKeys, type EtcdLockHeader } from './etcd-lock-keys.js';
import { EtcdLockWriter } from './etcd-lock-writer.js';

/** Undefined where somebody else was faster, or had to be waited for. */
type Attempt<T> = Promise<{ readonly answer: T } | undefined>;

export class EtcdLocks implements LockStore {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly #client: EtcdClient;
  readonly #keys: LockKeys;
  readonly #leases: EtcdLeases;
  readonly #reader: EtcdLockReader;
  readonly #writer: EtcdLockWriter;
  readonly #turns: RowTurns;

  constructor(client: EtcdClient, namespace: string, lossWindowMs: number) {
    const keys = new LockKeys(namespace);
    const leases = new EtcdLeases(client);
    this.#client = client;
    this.#keys = keys;
    this.#leases = leases;
    const parts = { client, keys, leases, lossWindowMs };
    this.#reader = new EtcdLockReader(parts);
    this.#writer = new EtcdLockWriter({ ...parts, reader: this.#reader });
    this.place = `etcd at ${client.where}, ${keys.prefix}`;
    this.lossWindowMs = lossWindowMs;
    this.#turns = new RowTurns(this.place);
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

  async locks(): Promise<LockRecord[]> {
    const { header, locks } = await this.#reader.read();
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

  advice(): Promise<string[]> {
    return etcdLockAdvice(this.#client, this.#keys.header);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #acquired(request: AcquireRequest): Attempt<AcquireAnswer> {
    const { lock, holder, ttlMs, longestMs } = request;
    const found = await this.#reader.read(lock);
    const isLost = !isKnown(found) || (await this.#reader.hasForgotten(found, lock, request));
    if (isLost) return this.#begin(found, request);
    const { header, wait, raise, locks } = found;
    const [held] = locks;
    if (longestMs > header.longestMs) return this.#writer.raised(found, longestMs);
    const isOfNow = held?.era === header.era;
    const isMine = isOfNow && held.holder === holder;
    // Whoever held it before a loss will be told so. What is this attempt's may be so no longer.
    if (wait !== undefined && (isMine || !isOfNow)) return this.#waiting(wait.lease);
    if (isMine) return this.#again(found, request);
    if (held !== undefined) return this.#refused(held);
    if (raise !== undefined && ttlMs > header.provenMs) return this.#waiting(raise.lease);
    const token = await this.#writer.granted(found, request);
    return token === undefined ? undefined : { answer: grant(header, token, ttlMs) };
  }

  /** The same attempt, whose answer was lost. */
  async #again(found: Known, { ttlMs }: AcquireRequest): Attempt<AcquireAnswer> {
    const { header, locks } = found;
    const [held] = locks;
    if (!(await this.#writer.prolonged(found, held!, ttlMs))) return undefined;
    return { answer: grant(header, held!.token, ttlMs) };
  }

  async #extended(request: ExtendRequest): Attempt<ExtendAnswer> {
    const { lock, token: have, ttlMs, highest } = request;
    const found = await this.#reader.read(lock);
    const lost = { answer: { status: 'lost' } } as const;
    if (found.headerText === undefined) return lost;
    const [held] = found.locks;
    const isHeld = held !== undefined && held.era === found.header?.era && isOf(held, request);
    // A lock that was held for long may be gone by now, which proves nothing.
    const asked = { longestMs: ttlMs, have, highest };
    const isLost = held !== undefined && (await this.#reader.hasForgotten(found, lock, asked));
    if (!isKnown(found) || isLost) return this.#begin(found, asked);
    if (!isHeld) return lost;
    const { header } = found;
    if (!(await this.#writer.prolonged(found, held, ttlMs))) return undefined;
    return { answer: grant(header, have, ttlMs) };
  }

  async #released(request: ReleaseRequest): Attempt<undefined> {
    const found = await this.#reader.read(request.lock);
    const [held] = found.locks;
    const done = { answer: undefined };
    if (held === undefined || !isOf(held, request)) return done;
    const { keepMs = 0 } = request;
    if (!isKnown(found)) return this.#begin(found, { longestMs: held.leaseMs, have: held.token });
    if (keepMs > 0) {
      const kept = await this.#writer.prolonged(found, { ...held, holder: '', leaseMs: 0 }, keepMs);
      return kept ? done : undefined;
    }
    return (await this.#writer.deleted(held)) ? done : undefined;
  }

  async #begin(found: Found, asked: Asked) {
    await this.#reader.beginRun(found, asked);
    return undefined;
  }

  async #waiting(lease: string) {
    return {
      answer: { status: 'wait', waitMs: Math.max(1, await this.#leases.leftMs(lease)) } as const,
    };
  }

  /** A lease that has just ended still has its key for a moment: whoever asks again sees. */
  async #refused({ label, lease, token }: FoundLock) {
    const leftMs = Math.max(1, await this.#leases.leftMs(lease));
    return { answer: { status: 'held', label, leftMs, token } as const };
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

function grant({ era }: EtcdLockHeader, token: bigint, ttlMs: number): LockGrant {
  return { status: 'ok', token, ttlMs, era };
}
