/**
 * Reads and writes locks, each time in one transaction of etcd. Both are in one file, because a
 * write compares what was read. A lock is read at one revision with everything that it depends on,
 * from a run of etcd that was examined.
 *
 * Guarantee: if etcd may have lost anything, a new run begins before any caller continues. The new
 * run grants nothing until all lost locks have ended, and its tokens are higher than theirs. The
 * holder of a lock keeps it through an election, and loses it if data was lost. Each write compares
 * everything that it depends on, and does not count in a run that may have lost it. A lease without
 * a key is revoked.
 */
import { randomUUID } from 'node:crypto';
import { isSnowflakeError } from '../../errors.js';
import { firstTokenAt } from '../../lock/lock-snapshot.js';
import type {
  AcquireRequest,
  ExtendRequest,
  HeldLock,
  CallerClocks,
  LockNote,
  ReleaseRequest,
} from '../../lock/lock-store.js';
import { answerHeader, listIn, type EtcdAnswer, type EtcdClient } from './etcd-client.js';
import {
  headerText,
  isAbsent,
  isText,
  isUnknownLease,
  lockHeaderIn,
  lockValueIn,
  putWith,
  valueText,
  type EtcdLease,
  type EtcdLeases,
  type EtcdLockHeader,
  type EtcdLockValue,
  type LockKeys,
} from './etcd-lock-keys.js';
import { EtcdMembers } from './etcd-members.js';
import { get, isUnchanged, keyValueIn, toBase64, type KeyValue } from './etcd-rows.js';
import { RUN_ENDED, runText, type Fate } from './restore-detector.js';

/** A key that is attached to a lease. */
interface Leased {
  readonly lease: string;
}

export interface FoundLock extends Leased, EtcdLockValue {
  readonly name: string;
  readonly token: bigint;
  readonly modRevision: number;
}

export interface Found {
  readonly answer: EtcdAnswer;
  readonly revision: number;
  readonly fate: Fate;
  /** Undefined if there is none, or if its run is over. */
  readonly header: EtcdLockHeader | undefined;
  /** The text as stored. */
  readonly headerText: string | undefined;
  readonly wait: Leased | undefined;
  readonly raise: Leased | undefined;
  readonly locks: readonly FoundLock[];
  /** The lock's note, if one was requested and exists. */
  readonly note: string | undefined;
  /** The revision of etcd at which the note was written. */
  readonly noteRevision: number | undefined;
}

/** A snapshot from a run that continues. */
export type Known = Found & { readonly header: EtcdLockHeader };

/** The knowledge of the caller. */
export interface Asked {
  readonly longestMs: number;
  readonly have: bigint;
  readonly highest?: bigint | undefined;
  readonly clocks?: CallerClocks | undefined;
}

type LeasedKey = KeyValue & Leased & { readonly createRevision: number };

/** A process with more locks must read some of them before it releases them. */
const OWN_COUNT_MAX = 1024;

interface Write {
  readonly lease: EtcdLease;
  readonly compare: readonly object[];
  readonly put: { readonly key: string; readonly value: EtcdLockValue };
  /** Further writes in the same transaction. */
  readonly notes?: readonly object[];
}

interface Parts {
  readonly client: EtcdClient;
  readonly keys: LockKeys;
  readonly leases: EtcdLeases;
  readonly lossWindowMs: number;
}

export class EtcdLockTransactions {
  readonly #client: EtcdClient;
  readonly #keys: LockKeys;
  readonly #leases: EtcdLeases;
  readonly #lossWindowMs: number;
  readonly #members: EtcdMembers;
  readonly #own = new Map<string, HeldLock & Leased>();

  constructor({ client, keys, leases, lossWindowMs }: Parts) {
    this.#client = client;
    this.#keys = keys;
    this.#leases = leases;
    this.#lossWindowMs = lossWindowMs;
    this.#members = new EtcdMembers(client);
  }

  /** @param name of one lock; if absent, all locks are read */
  async read(name?: string): Promise<Found> {
    const { header: key, wait, raise, held } = this.#keys;
    const locks = name === undefined ? get(held.from, held.to) : get(this.#keys.lock(name));
    const notes = name === undefined ? [] : [get(this.#keys.note(name))];
    const success = [get(key), get(wait), get(raise), locks, ...notes];
    const seen = await this.#members.ask(success, leasedKeyIn);
    const [[kept] = [], [waiting] = [], [raised] = [], found = [], [note] = []] = seen.lists;
    const stored = kept && lockHeaderIn(kept.value);
    const fate = stored === undefined ? 'lost' : await this.#members.fate(stored.server, seen);
    return {
      answer: seen.answer,
      revision: seen.header.revision,
      fate,
      header: fate === 'same' ? stored : undefined,
      headerText: kept?.value,
      wait: waiting,
      raise: raised,
      locks: found.map((row) => this.#lockIn(row)),
      note: note?.value,
      noteRevision: note?.modRevision,
    };
  }

  async notes(): Promise<LockNote[]> {
    const { from, to } = this.#keys.notes;
    const body = { key: toBase64(from), range_end: toBase64(to) };
    const { fields } = await this.#client.ask({ path: 'kv/range', body });
    return listIn(fields, 'kvs').map((row) => {
      const { key, value: note } = keyValueIn(row);
      return { lock: this.#keys.nameOf(key), note };
    });
  }

  /** True if the caller has a token of this lock that this run has never granted. */
  async hasForgotten(
    found: Found,
    name: string,
    { have: token, highest }: Pick<Asked, 'have' | 'highest'>,
  ): Promise<boolean> {
    const { header, revision, locks } = found;
    if (header === undefined) return false;
    // A token above the current revision was granted by a run that etcd has lost.
    if (highest !== undefined && highest > header.tokenBase + BigInt(revision)) return true;
    if (token <= header.forgottenTo) return false;
    const [held] = locks;
    if (held !== undefined) return token > held.token;
    const at = token - header.tokenBase;
    if (at > BigInt(revision)) return true;
    const body = { key: toBase64(this.#keys.lock(name)), revision: String(at) };
    try {
      const { fields } = await this.#client.ask({ path: 'kv/range', body });
      const [row] = listIn(fields, 'kvs').map(leasedKeyIn);
      return row?.createRevision !== Number(at);
    } catch (error) {
      // No evidence is left, so the token proves no loss.
      if (isSnowflakeError(error) && error.details['refusal'] === 'compacted') return false;
      throw error;
    }
  }

  /** Does nothing if another process was faster; the caller reads again. */
  async beginRun({ answer, fate, headerText: before }: Found, asked: Asked): Promise<void> {
    const { header: key, wait } = this.#keys;
    const { memberId } = this.#client.read(answer, answerHeader);
    const status = await this.#members.status(answer.endpoint, memberId);
    // Read after the status, so that the computed gap is at most the real one.
    const now = await this.#client.ask({ path: 'kv/range', body: { key: toBase64(key) } });
    const { clusterId, term, revision } = this.#client.read(now, answerHeader);
    const gap = status && status.index - revision;
    const [timed, at] = [firstTokenAt(now.timeMs), BigInt(revision)];
    const server = runText({ clusterId, gap, term, random: randomUUID() });
    const old = before === undefined ? undefined : lockHeaderIn(before);
    const longestMs = Math.max(old?.longestMs ?? 0, asked.longestMs);
    const lease = await this.#leases.grant(longestMs + this.#lossWindowMs);
    // The time of a lost run, as far as known, is above all its tokens.
    const { have, highest = 0n, clocks } = asked;
    const survived = firstTokenAt(clocks?.nowMs ?? 0);
    const known = [timed, have, highest, survived].map((token) => token - at);
    const tokenBase = known.reduce((a, b) => (a > b ? a : b), old?.tokenBase ?? 0n);
    const header = {
      server,
      era: (old?.era ?? 0) + (fate === 'elected' ? 0 : 1),
      tokenBase,
      forgottenTo: tokenBase + at,
      longestMs,
      provenMs: old?.provenMs ?? 0,
    };
    const body = {
      compare: [isText(key, before)],
      success: [putWith(key, headerText(header)), putWith(wait, server, lease.id)],
    };
    const { fields } = await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    if (fields['succeeded'] !== true) await this.#leases.dropped(lease.id);
  }

  /** Returns the token; undefined if another process was faster. */
  async grant(found: Known, request: AcquireRequest): Promise<bigint | undefined> {
    const { lock, holder, label, ttlMs } = request;
    const { header, answer } = found;
    const { era, tokenBase } = header;
    const lease = await this.#leases.grant(ttlMs);
    const own = { holder, label, sinceMs: answer.timeMs, leaseMs: lease.ms };
    const key = this.#keys.lock(lock);
    // The lock may have had another holder since the read, who may have left another note.
    const noteIsAsRead = isUnchanged(this.#keys.note(lock), found.noteRevision);
    const revision = await this.#written(found, {
      lease,
      compare: [isAbsent(this.#keys.wait), isAbsent(key), noteIsAsRead],
      put: { key, value: { era, tokenBase, ...own } },
    });
    if (revision === undefined) return undefined;
    const token = tokenBase + BigInt(revision);
    this.#noteOwn({ lock, holder, token, lease: lease.id });
    return token;
  }

  /**
   * Moves the lock to a new lease, which a majority grants now; the old lease then has no key.
   */
  async prolonged(
    found: Known,
    held: FoundLock,
    { ttlMs, note }: Pick<ExtendRequest, 'ttlMs' | 'note'>,
  ): Promise<boolean> {
    const { name, modRevision, era, tokenBase, holder, label, sinceMs, token } = held;
    const key = this.#keys.lock(name);
    this.#own.delete(name);
    const lease = await this.#leases.grant(Math.max(ttlMs, held.leaseMs));
    const value = { era, tokenBase, holder, label, sinceMs, leaseMs: lease.ms };
    const compare = [isUnchanged(key, modRevision)];
    const notes = note === undefined ? [] : [putWith(this.#keys.note(name), note)];
    const revision = await this.#written(found, { lease, compare, put: { key, value }, notes });
    if (revision === undefined) return false;
    await this.#leases.dropped(held.lease);
    this.#noteOwn({ lock: name, holder, token, lease: lease.id });
    return true;
  }

  #noteOwn(own: HeldLock & Leased): void {
    if (this.#own.size === OWN_COUNT_MAX) this.#own.clear();
    this.#own.set(own.lock, own);
  }

  /** The lease of a lock that this process holds, unless the response to a write of it was lost. */
  ownLease({ lock, holder, token }: Omit<ReleaseRequest, 'keepMs'>): string | undefined {
    const own = this.#own.get(lock);
    const isOwn = own?.holder === holder && own.token === (token ?? own.token);
    return isOwn ? own.lease : undefined;
  }

  /** Ends a lock by revoking its lease, which has no other lock. */
  async ended(name: string, lease: string): Promise<void> {
    await this.#leases.revoked(lease);
    this.#own.delete(name);
  }

  /** Records a longer TTL before it is granted. */
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
    // Locks that the last loss erased may end later than was known then.
    if (wait !== undefined) {
      const { id } = await this.#leases.grant(longestMs + this.#lossWindowMs);
      success.push(putWith(waitKey, header.server, id));
    }
    const body = { compare: [isText(key, found.headerText)], success };
    await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    return undefined;
  }

  /** Returns the revision of the write; undefined if one of its dependencies had changed. */
  async #written(
    found: Known,
    { lease, compare, put, notes = [] }: Write,
  ): Promise<number | undefined> {
    const isAsRead = isText(this.#keys.header, found.headerText);
    const success = [putWith(put.key, valueText(put.value), lease.id), ...notes];
    const mark = this.#members.mark();
    const body = { compare: [isAsRead, ...compare], success };
    const answer = await this.#client
      .ask({ path: 'kv/txn', body, isWrite: true })
      .catch((error: unknown) => {
        if (isUnknownLease(error)) return undefined;
        throw error;
      });
    if (answer?.fields['succeeded'] !== true) {
      await this.#leases.dropped(lease.id);
      return undefined;
    }
    const header = this.#client.read(answer, answerHeader);
    const fate = await this.#members.fate(found.header.server, { answer, header, mark });
    if (fate === 'same') return header.revision;
    throw this.#client.errorAt(answer.endpoint, new Error(RUN_ENDED));
  }

  #lockIn({ key, value: text, lease, modRevision, createRevision }: LeasedKey): FoundLock {
    const value = lockValueIn(text);
    const token = value.tokenBase + BigInt(createRevision);
    return { ...value, name: this.#keys.nameOf(key), token, modRevision, lease };
  }
}

function leasedKeyIn(value: unknown): LeasedKey {
  const { lease, create_revision } = value as { lease?: unknown; create_revision?: unknown };
  return {
    ...keyValueIn(value),
    lease: typeof lease === 'string' ? lease : '0',
    createRevision: Number(create_revision),
  };
}
