/**
 * The keys of locks in etcd, and their values.
 *
 * Guarantee: a value is read back as written. A value that another program damaged is rejected, and
 * never read as a lock without a holder.
 */
import { isSnowflakeError } from '../../errors.js';
import { locksForm } from '../../lock/row-locks.js';
import { formText, readForm, type TextForm } from '../../rows/row-store.js';
import { wholeNumber, type EtcdAnswer, type EtcdClient } from './etcd-client.js';
import { toBase64 } from './etcd-rows.js';

/** The header that all locks share. */
export interface EtcdLockHeader {
  /** The run of etcd that contains the locks; each header has its own. */
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** The sum of this and a revision of etcd is a token. */
  readonly tokenBase: bigint;
  /** A token up to this one proves no loss, because it is older than the last loss. */
  readonly forgottenTo: bigint;
  /** The longest TTL that any caller requests: all locks that a loss can erase end within it. */
  readonly longestMs: number;
  /** The longest TTL that may be granted while the raise may be lost. */
  readonly provenMs: number;
}

/** One lock that is held. */
export interface EtcdLockValue {
  readonly era: number;
  /** The era of the header when the lock was granted. */
  readonly tokenBase: bigint;
  /** Empty if the lock is released but still unavailable to other processes. */
  readonly holder: string;
  readonly label: string;
  /** The time of a member's clock; nothing depends on it. */
  readonly sinceMs: number;
  /** The duration of its lease, which an extension never shortens. */
  readonly leaseMs: number;
}

/** Keys as strings, next to those of a registry in the same namespace. */
export class LockKeys {
  readonly prefix: string;
  readonly header: string;
  /** This key exists as long as no lock may be granted. */
  readonly wait: string;
  /** This key exists as long as a loss may erase the longest TTL. */
  readonly raise: string;
  /** All locks have keys from the first of these up to the second. */
  readonly held: { readonly from: string; readonly to: string };
  /** The same for their notes, which have no lease because they outlive the locks. */
  readonly notes: { readonly from: string; readonly to: string };

  constructor(namespace: string) {
    this.prefix = `snowflake/${namespace}/locks/`;
    this.header = `${this.prefix}header`;
    this.wait = `${this.prefix}wait`;
    this.raise = `${this.prefix}raise`;
    this.held = { from: `${this.prefix}held/`, to: `${this.prefix}held0` };
    this.notes = { from: `${this.prefix}note/`, to: `${this.prefix}note0` };
  }

  lock(name: string): string {
    return `${this.held.from}${name}`;
  }

  note(name: string): string {
    return `${this.notes.from}${name}`;
  }

  /** The name of the lock to which a key of either kind belongs. */
  nameOf(key: string): string {
    return key.slice(this.held.from.length);
  }
}

const lockText = (fields: Pick<TextForm, 'texts' | 'numbers' | 'bigints'>): TextForm =>
  locksForm(fields, 'A key', 'Delete all keys below locks/ of the namespace');

const HEADER = lockText({
  texts: ['server'],
  numbers: ['era', 'longestMs', 'provenMs'],
  bigints: ['tokenBase', 'forgottenTo'],
});
const VALUE = lockText({
  texts: ['holder', 'label'],
  numbers: ['era', 'sinceMs', 'leaseMs'],
  bigints: ['tokenBase'],
});

export function headerText({ tokenBase, forgottenTo, ...rest }: EtcdLockHeader): string {
  return formText({ ...rest, tokenBase, forgottenTo });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export const lockHeaderIn = (text: string) => readForm<EtcdLockHeader>(text, HEADER);

export function valueText({ tokenBase, ...rest }: EtcdLockValue): string {
  return formText({ ...rest, tokenBase });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export const lockValueIn = (text: string) => readForm<EtcdLockValue>(text, VALUE);

/*
 * Leases of etcd. When a lease ends, etcd deletes its keys. The leader measures it by a steady
 * clock, and a change of leaders never ends it earlier.
 *
 * Guarantee: a lease lasts at least the requested time from its grant. The code never sends a
 * keep-alive, because a leader that was replaced without noticing may confirm one.
 */

export interface EtcdLease {
  readonly id: string;
  readonly ms: number;
}

/** The format of etcd; a proxy may add milliseconds. */
const SECONDS = /^\d{1,10}(\.\d{3})?$/;
/** etcd rounds to seconds; a waiter retries four times in each. */
const PART_MS = 250;
const ID = /^-?[1-9]\d{0,18}$/;

export class EtcdLeases {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** Grants a lease of whole seconds; etcd extends one that is shorter than an election. */
  async grant(ms: number): Promise<EtcdLease> {
    const body = { TTL: String(Math.ceil(ms / 1000)) };
    const answer = await this.#client.ask({ path: 'lease/grant', body, isWrite: true });
    return this.#client.read(answer, leaseIn);
  }

  /** Returns at least the remaining time of a lease; 0 if it has ended. */
  async leftMs(id: string): Promise<number> {
    const answer = await this.#client.ask({ path: 'lease/timetolive', body: { ID: id } });
    return this.#client.read(answer, leftIn);
  }

  /** Ends a lease and deletes its keys; does nothing if etcd has no such lease. */
  revoked(id: string): Promise<unknown> {
    return this.#client
      .ask({ path: 'lease/revoke', body: { ID: id }, isWrite: true })
      .catch((error: unknown) => {
        if (!isUnknownLease(error)) throw error;
      });
  }

  /** Revokes a lease without keys. */
  dropped(id: string): Promise<unknown> {
    // It ends by itself.
    return this.revoked(id).catch(() => undefined);
  }
}

export function isUnknownLease(error: unknown): boolean {
  return isSnowflakeError(error) && error.details['refusal'] === 'no-lease';
}

/** etcd omits a number that is 0. */
function leftIn({ fields: { TTL = '0' } }: EtcdAnswer): number {
  if (TTL === '-1') return 0;
  if (TTL === '0') return PART_MS;
  if (typeof TTL !== 'string' || !SECONDS.test(TTL)) throw new Error('left out its TTL');
  return Math.round(Number(TTL) * 1000);
}

function leaseIn({ fields }: EtcdAnswer): EtcdLease {
  const { ID: id } = fields;
  if (typeof id !== 'string' || !ID.test(id)) throw new Error('left out the lease');
  return { id, ms: wholeNumber(fields['TTL'], 'TTL') * 1000 };
}

/*
 * The parts of lock transactions in the gateway's format: comparisons, and the keys to put if they
 * hold.
 */

/** True as long as a key has this text; without a text, if the key is absent. */
export function isText(key: string, text: string | undefined): object {
  if (text === undefined) return isAbsent(key);
  return { key: toBase64(key), target: 'VALUE', result: 'EQUAL', value: toBase64(text) };
}

export function isAbsent(key: string): object {
  return { key: toBase64(key), target: 'CREATE', result: 'EQUAL', create_revision: '0' };
}

/** With a lease, the key is deleted when the lease ends. */
export function putWith(key: string, text: string, lease?: string): object {
  const value = { key: toBase64(key), value: toBase64(text) };
  return { request_put: { ...value, ...(lease !== undefined && { lease }) } };
}
