/**
 * The keys of locks in etcd, and their values.
 *
 * Guarantee: a value is read back as written. A value that another program damaged is rejected, and
 * never read as a lock without a holder.
 */
import { locksForm } from '../../lock/row-locks.js';
import { readForm, type TextForm } from '../../rows/row-store.js';
import { recordOf, wholeNumber, type EtcdAnswer, type EtcdClient } from './etcd-client.js';
import { hasRefusal } from './etcd-errors.js';

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
export function lockKeys(namespace: string) {
  const prefix = `snowflake/${namespace}/locks/`;
  return {
    prefix,
    header: `${prefix}header`,
    /** This key exists as long as no lock may be granted. */
    wait: `${prefix}wait`,
    /** This key exists as long as a loss may erase the longest TTL. */
    raise: `${prefix}raise`,
    /** All locks have keys from the first of these up to the second. */
    held: [`${prefix}held/`, `${prefix}held0`],
    /** The same for their notes, which have no lease because they outlive the locks. */
    notes: [`${prefix}note/`, `${prefix}note0`],
    lock: (name: string) => `${prefix}held/${name}`,
    note: (name: string) => `${prefix}note/${name}`,
    /** The name of the lock to which a key of either kind belongs. */
    nameOf: (key: string) => key.slice(`${prefix}held/`.length),
  } as const;
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

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export const lockHeaderIn = (text: string) => readForm<EtcdLockHeader>(text, HEADER);

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export const lockValueIn = (text: string) => readForm<EtcdLockValue>(text, VALUE);

/*
 * Leases of etcd. When a lease ends, etcd deletes its keys. The leader measures it by a steady
 * clock, and a change of leaders never ends it earlier.
 *
 * Guarantee: a lease lasts at least the requested time from its grant.
 */

export interface EtcdLease {
  readonly id: string;
  readonly ms: number;
  /** The clock of the member at the grant. */
  readonly timeMs: number;
}

/** The format of etcd, -1 after the end; a proxy may add milliseconds. */
const SECONDS = /^-1$|^\d{1,10}(\.\d{3})?$/;
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

  /**
   * True if a leader has restarted the time of a lease. The leader may be replaced already, so only
   * a later read in the run of the grant confirms it.
   */
  async isKeptAlive(id: string): Promise<boolean> {
    const { fields } = await this.#client.ask({ path: 'lease/keepalive', body: { ID: id } });
    return Number(recordOf(fields['result'])['TTL'] ?? 0) > 0;
  }

  /** Returns at least the remaining time of a lease; 0 if it has ended. */
  async leftMs(id: string): Promise<number> {
    const answer = await this.#client.ask({ path: 'lease/timetolive', body: { ID: id } });
    return this.#client.read(answer, leftIn);
  }

  /** Ends a lease and deletes its keys; does nothing if etcd has no such lease. */
  async revoked(id: string): Promise<void> {
    const asked = { path: 'lease/revoke', body: { ID: id }, isWrite: true };
    await this.#client.ask(asked).catch((error: unknown) => {
      if (!hasRefusal(error, 'no-lease')) throw error;
    });
  }

  /** Revokes a lease that nobody needs. */
  async dropped(id: string): Promise<undefined> {
    // If this fails, it ends by itself.
    await this.revoked(id).catch(() => undefined);
    return undefined;
  }
}

/** etcd omits a number that is 0. */
function leftIn({ fields: { TTL = '0' } }: EtcdAnswer): number {
  if (typeof TTL !== 'string' || !SECONDS.test(TTL)) throw new Error('left out its TTL');
  return Math.max(0, Math.round(Number(TTL) * 1000) || PART_MS);
}

function leaseIn({ fields, timeMs }: EtcdAnswer): EtcdLease {
  const { ID: id } = fields;
  if (typeof id !== 'string' || !ID.test(id)) throw new Error('left out the lease');
  return { id, ms: wholeNumber(fields['TTL'], 'TTL') * 1000, timeMs };
}
