/**
 * The keys of locks in etcd, and what stands in them.
 *
 * Promise: what was written is read back as it was; what somebody else spoilt is refused, never
 * taken for a lock that nobody holds.
 */
import type { SnowflakeError } from '../../../errors.js';
import { unreadableLocks } from '../../../lock/lock-text.js';
import { fieldsIn, isWhole, numberIn } from '../../../registry/stored-fields.js';

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
