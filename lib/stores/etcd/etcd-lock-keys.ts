/**
 * The keys of locks in etcd, and their values.
 *
 * Guarantee: a value is read back as it was written; one that another program spoilt is refused,
 * and never taken for a lock without a holder.
 */
import { isSnowflakeError } from '../../errors.js';
import { locksForm } from '../../lock/row-locks.js';
import { formText, readForm, type TextForm } from '../../rows/row-store.js';
import { wholeNumber, type EtcdAnswer, type EtcdClient } from './etcd-client.js';
import { toBase64 } from './etcd-rows.js';

/** The header that all locks share. */
export interface EtcdLockHeader {
  /** The run of etcd in which they lie: no other header has the same. */
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** Added to a revision of etcd it is a token. */
  readonly tokenBase: bigint;
  /** No token up to this proves a loss: it is of before the last one. */
  readonly forgottenTo: bigint;
  /** The longest ttl that any caller asks for: all that can be forgotten ends by then. */
  readonly longestMs: number;
  /** No longer ttl than this is granted while the raise may be lost. */
  readonly provenMs: number;
}

/** One lock that is held. */
export interface EtcdLockValue {
  readonly era: number;
  /** The era of the header when the lock was granted. */
  readonly tokenBase: bigint;
  /** Empty if the lock was released, and is only kept from others. */
  readonly holder: string;
  readonly label: string;
  /** The clock of a member gave this time; nothing depends on it. */
  readonly sinceMs: number;
  /** The duration of its lease, which an extension never makes shorter. */
  readonly leaseMs: number;
}

/** Keys as text; the registry of a namespace lies beside them. */
export class LockKeys {
  readonly prefix: string;
  readonly header: string;
  /** This key exists as long as no lock may be granted. */
  readonly wait: string;
  /** This key exists as long as a loss may forget the longest ttl. */
  readonly raise: string;
  /** All locks lie from the first of these keys up to the second. */
  readonly held: { readonly from: string; readonly to: string };
  /** Their notes lie likewise, without a lease: they outlive the locks. */
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
 * Leases of etcd: what is attached to one is deleted when it ends, by the steady clock of the
 * leader, and never earlier because another member leads.
 *
 * Guarantee: a lease lasts at least as long as was asked for, from when etcd granted it. None is
 * ever kept alive: a leader that was replaced and does not know it may say that it did.
 */

export interface EtcdLease {
  readonly id: string;
  readonly ms: number;
}

/** The format of etcd; a proxy may add milliseconds. */
const SECONDS = /^\d{1,10}(\.\d{3})?$/;
/** etcd rounds to seconds; a waiter asks again four times in each. */
const PART_MS = 250;
const ID = /^-?[1-9]\d{0,18}$/;

export class EtcdLeases {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** Grants a lease of whole seconds; etcd makes it longer if it is shorter than an election. */
  async grant(ms: number): Promise<EtcdLease> {
    const body = { TTL: String(Math.ceil(ms / 1000)) };
    const answer = await this.#client.ask({ path: 'lease/grant', body, isWrite: true });
    return this.#client.read(answer, leaseIn);
  }

  /** Returns at least what is left of a lease; 0 if it has ended. */
  async leftMs(id: string): Promise<number> {
    const answer = await this.#client.ask({ path: 'lease/timetolive', body: { ID: id } });
    return this.#client.read(answer, leftIn);
  }

  /** Ends a lease, and what it holds with it; nothing is left to end if etcd knows none. */
  revoked(id: string): Promise<unknown> {
    return this.#client
      .ask({ path: 'lease/revoke', body: { ID: id }, isWrite: true })
      .catch((error: unknown) => {
        if (!isUnknownLease(error)) throw error;
      });
  }

  /** Revokes a lease that holds nothing any more. */
  dropped(id: string): Promise<unknown> {
    // It ends by itself.
    return this.revoked(id).catch(() => undefined);
  }
}

export function isUnknownLease(error: unknown): boolean {
  return isSnowflakeError(error) && error.details['refusal'] === 'no-lease';
}

/** A number that etcd leaves out is 0. */
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
 * The parts of the transactions of locks, as the gateway wants them: comparisons, and the keys to
 * put if they hold.
 */

/** True as long as a key has a text; without a text, if the key is absent. */
export function isText(key: string, text: string | undefined): object {
  if (text === undefined) return isAbsent(key);
  return { key: toBase64(key), target: 'VALUE', result: 'EQUAL', value: toBase64(text) };
}

export function isAbsent(key: string): object {
  return { key: toBase64(key), target: 'CREATE', result: 'EQUAL', create_revision: '0' };
}

/** With a lease the key is deleted when the lease ends. */
export function putWith(key: string, text: string, lease?: string): object {
  const value = { key: toBase64(key), value: toBase64(text) };
  return { request_put: { ...value, ...(lease !== undefined && { lease }) } };
}
