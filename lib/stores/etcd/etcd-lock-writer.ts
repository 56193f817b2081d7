/**
 * Writes locks to etcd: each write is a transaction that compares all it depends on.
 *
 * Guarantee: nothing counts as written in a run of etcd that may have forgotten it. A lease that
 * holds nothing is given back.
 */
import { isSnowflakeError } from '../../errors.js';
import type { AcquireRequest } from '../../lock/lock-store.js';
import { answerHeader } from './etcd-answer.js';
import type { EtcdClient } from './etcd-client.js';
import {
  deletion,
  headerText,
  isAbsent,
  isText,
  putWith,
  valueText,
  type EtcdLease,
  type EtcdLeases,
  type EtcdLockValue,
  type LockKeys,
} from './etcd-lock-keys.js';
import type { EtcdLockReader, FoundLock, Known } from './etcd-lock-reader.js';
import { isUnchanged } from './etcd-rows.js';
import { RUN_ENDED } from './restore-detector.js';

interface WriterParts {
  readonly client: EtcdClient;
  readonly keys: LockKeys;
  readonly leases: EtcdLeases;
  readonly reader: EtcdLockReader;
  readonly lossWindowMs: number;
}

interface Write {
  readonly lease: EtcdLease;
  readonly compare: readonly object[];
  readonly put: { readonly key: string; readonly value: EtcdLockValue };
}

export class EtcdLockWriter {
  readonly #client: EtcdClient;
  readonly #keys: LockKeys;
  readonly #leases: EtcdLeases;
  readonly #reader: EtcdLockReader;
  readonly #lossWindowMs: number;

  constructor({ client, keys, leases, reader, lossWindowMs }: WriterParts) {
    this.#client = client;
    this.#keys = keys;
    this.#leases = leases;
    this.#reader = reader;
    this.#lossWindowMs = lossWindowMs;
  }

  /** Returns the token; undefined if another process was faster. */
  async grant(found: Known, request: AcquireRequest): Promise<bigint | undefined> {
    const { lock, holder, label, ttlMs } = request;
    const { header, answer } = found;
    const { era, tokenBase } = header;
    const lease = await this.#leases.grant(ttlMs);
    const own = { holder, label, sinceMs: answer.timeMs, leaseMs: lease.ms };
    const key = this.#keys.lock(lock);
    const revision = await this.#written(found, {
      lease,
      compare: [isAbsent(this.#keys.wait), isAbsent(key)],
      put: { key, value: { era, tokenBase, ...own } },
    });
    return revision === undefined ? undefined : tokenBase + BigInt(revision);
  }

  /**
   * Moves the lock to a new lease, which a majority grants now; the old one holds nothing
   * afterwards.
   */
  async prolonged(found: Known, held: FoundLock, ttlMs: number): Promise<boolean> {
    const { name, modRevision, era, tokenBase, holder, label, sinceMs } = held;
    const key = this.#keys.lock(name);
    const lease = await this.#leases.grant(Math.max(ttlMs, held.leaseMs));
    const value = { era, tokenBase, holder, label, sinceMs, leaseMs: lease.ms };
    const compare = [isUnchanged(key, modRevision)];
    const revision = await this.#written(found, { lease, compare, put: { key, value } });
    if (revision !== undefined) await this.#leases.dropped(held.lease);
    return revision !== undefined;
  }

  /** Returns false if the lock was changed meanwhile. */
  async deleted({ name, modRevision, lease }: FoundLock): Promise<boolean> {
    const key = this.#keys.lock(name);
    const body = { compare: [isUnchanged(key, modRevision)], success: [deletion(key)] };
    const { fields } = await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    if (fields['succeeded'] !== true) return false;
    await this.#leases.dropped(lease);
    return true;
  }

  /** A longer ttl is recorded before it is granted. */
  async raised(found: Known, longestMs: number): Promise<undefined> {
    const { header, raise, wait } = found;
    const provenMs = raise === undefined ? header.longestMs : header.provenMs;
    const { header: key, wait: waitKey, raise: raiseKey } = this.#keys;
    const text = headerText({ ...header, longestMs, provenMs });
    const success = [putWith(key, text)];
    if (this.#lossWindowMs > 0) {
      const { id } = await this.#leases.grant(this.#lossWindowMs);
      success.push(putWith(raiseKey, header.server, id));
    }
    // Locks that the last loss forgot may end later than was known then.
    if (wait !== undefined) {
      const { id } = await this.#leases.grant(longestMs + this.#lossWindowMs);
      success.push(putWith(waitKey, header.server, id));
    }
    const body = { compare: [isText(key, found.headerText)], success };
    await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    return undefined;
  }

  /** Returns the revision of the write; undefined if something it depends on had changed. */
  async #written(found: Known, { lease, compare, put }: Write): Promise<number | undefined> {
    const isAsRead = isText(this.#keys.header, found.headerText);
    const success = [putWith(put.key, valueText(put.value), lease.id)];
    const mark = this.#reader.mark();
    const body = { compare: [isAsRead, ...compare], success };
    const answer = await this.#client
      .ask({ path: 'kv/txn', body, isWrite: true })
      .catch((error: unknown) => {
        if (isSnowflakeError(error) && error.details['refusal'] === 'no-lease') return undefined;
        throw error;
      });
    if (answer?.fields['succeeded'] !== true) {
      await this.#leases.dropped(lease.id);
      return undefined;
    }
    const header = this.#client.read(answer, answerHeader);
    const fate = await this.#reader.fateOf(found.header.server, { answer, header, mark });
    if (fate === 'same') return header.revision;
    throw this.#client.errorAt(answer.endpoint, new Error(RUN_ENDED));
  }
}
