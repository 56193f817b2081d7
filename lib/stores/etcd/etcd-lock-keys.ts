/**
 * The keys of locks in etcd, and what stands in them.
 *
 * Guarantee: what was written is read back as it was; what somebody else spoilt is refused, never
 * taken for a lock that nobody holds.
 */
import type { SnowflakeError } from '../../errors.js';
import { unreadableLocks } from '../../lock/row-locks.js';
import { fieldsIn, isWhole, numberIn } from '../../rows/stored-fields.js';
import { wholeNumber, type EtcdAnswer } from './etcd-answer.js';
import type { EtcdClient } from './etcd-client.js';
import { toBase64 } from './etcd-rows.js';

/** Of the protocol. Locks that are kept by another one are left alone. */
const VERSION = '1';

/** What is common to all locks. */
export interface EtcdLockHeader {
  /** The run of etcd in which they lie: no other header has the same. */
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** Added to a revision of etcd it is a token. */
  readonly tokenBase: bigint;
  /** No token up to this proves a loss: it is of before the last one. */
  readonly forgottenTo: bigint;
  /** The longest ttl that anybody asks for: all that can be forgotten ends by then. */
  readonly longestMs: number;
  /** No longer ttl than this is granted while the raise may be lost. */
  readonly provenMs: number;
}

/** One lock that is held. */
export interface EtcdLockValue {
  readonly era: number;
  /** Of the header when it was granted. */
  readonly tokenBase: bigint;
  /** Empty where it was released, and is only kept from others. */
  readonly holder: string;
  readonly label: string;
  /** By the clock of a member; nothing rests on it. */
  readonly sinceMs: number;
  /** Of its lease, which an extension never makes shorter. */
  readonly leaseMs: number;
}

/** Keys as text; the registry of a namespace lies beside them. */
export class LockKeys {
  readonly prefix: string;
  readonly header: string;
  /** There as long as nothing is granted to anybody. */
  readonly wait: string;
  /** There as long as the longest ttl may be forgotten by a loss. */
  readonly raise: string;
  /** Of all locks, first and first after the last. */
  readonly held: { readonly from: string; readonly to: string };

  constructor(namespace: string) {
    this.prefix = `snowflake/${namespace}/locks/`;
    this.header = `${this.prefix}header`;
    this.wait = `${this.prefix}wait`;
    this.raise = `${this.prefix}raise`;
    this.held = { from: `${this.prefix}held/`, to: `${this.prefix}held0` };
  }

  lock(name: string): string {
    return `${this.held.from}${name}`;
  }

  nameOf(key: string): string {
    return key.slice(this.held.from.length);
  }
}

export function headerText({ tokenBase, forgottenTo, ...rest }: EtcdLockHeader): string {
  const tokens = { tokenBase: String(tokenBase), forgottenTo: String(forgottenTo) };
  return JSON.stringify({ version: VERSION, ...rest, ...tokens });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export function lockHeaderIn(text: string): EtcdLockHeader {
  const fields = wholeFields(text, ['server'], ['era', 'longestMs', 'provenMs']);
  const { version: _, ...rest } = fields as unknown as EtcdLockHeader & { version: string };
  const tokenBase = tokenIn(fields['tokenBase']);
  return { ...rest, tokenBase, forgottenTo: tokenIn(fields['forgottenTo']) };
}

function tokenIn(digits: unknown): bigint {
  const token = numberIn(digits);
  if (token === undefined) throw unreadable(VERSION);
  return token;
}

export function valueText({ tokenBase, ...rest }: EtcdLockValue): string {
  return JSON.stringify({ version: VERSION, ...rest, tokenBase: String(tokenBase) });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export function lockValueIn(text: string): EtcdLockValue {
  const fields = wholeFields(text, ['holder', 'label'], ['era', 'sinceMs', 'leaseMs']);
  const { version: _, ...value } = fields as unknown as EtcdLockValue & { version: string };
  return { ...value, tokenBase: tokenIn(fields['tokenBase']) };
}

function wholeFields(text: string, texts: readonly string[], numbers: readonly string[]) {
  const fields = fieldsIn(text);
  if (fields['version'] === VERSION && isWhole(fields, texts, numbers)) return fields;
  throw unreadable(fields['version']);
}

function unreadable(version: unknown): SnowflakeError {
  return unreadableLocks(version, 'A key', 'Delete all keys below locks/ of the namespace');
}

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

/** As etcd writes them; whoever stands in between may know their milliseconds. */
const SECONDS = /^\d{1,10}(\.\d{3})?$/;
/** Of a second that etcd does not tell more of; whoever waits so long asks four times. */
const PART_MS = 250;
const ID = /^-?[1-9]\d{0,18}$/;

export class EtcdLeases {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** One of whole seconds; etcd makes those longer that are shorter than it takes to elect. */
  async grant(ms: number): Promise<EtcdLease> {
    const body = { TTL: String(Math.ceil(ms / 1000)) };
    const answer = await this.#client.ask({ path: 'lease/grant', body, isWrite: true });
    return this.#client.read(answer, leaseIn);
  }

  /** What is left of it at least; 0 where it has ended. */
  async leftMs(id: string): Promise<number> {
    const answer = await this.#client.ask({ path: 'lease/timetolive', body: { ID: id } });
    return this.#client.read(answer, leftIn);
  }

  /** One to which nothing is attached any more: it ends by itself where this fails. */
  async dropped(id: string): Promise<void> {
    // As said above.
    await this.#client
      .ask({ path: 'lease/revoke', body: { ID: id }, isWrite: true })
      .catch(() => undefined);
  }
}

/** What etcd leaves out is 0. */
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
 * The parts of the transactions of locks, as the gateway wants them: what has to be so, and what is
 * put or deleted then.
 */

/** True as long as a key has a text; without one, where it is not there. */
export function isText(key: string, text: string | undefined): object {
  if (text === undefined) return isAbsent(key);
  return { key: toBase64(key), target: 'VALUE', result: 'EQUAL', value: toBase64(text) };
}

export function isAbsent(key: string): object {
  return { key: toBase64(key), target: 'CREATE', result: 'EQUAL', create_revision: '0' };
}

/** With a lease the key is deleted when it ends. */
export function putWith(key: string, text: string, lease?: string): object {
  const value = { key: toBase64(key), value: toBase64(text) };
  return { request_put: { ...value, ...(lease !== undefined && { lease }) } };
}

export function deletion(key: string): object {
  return { request_delete_range: { key: toBase64(key) } };
}
