/**
 * The contract between lock holders and the lock store. The store decides which holder has a lock,
 * until when by the store's clock, and with which fencing token.
 *
 * Guarantee: no caller gets a lock that another caller holds by the store's clock, and every token
 * is higher than all earlier tokens. This is true if the store loses no write older than
 * `lossWindowMs`.
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import { format } from '../messages.js';
import { bigintFaults, nameFaults, refuse, wholeFaults } from '../options.js';

/** The clocks of a caller. A step of the store's clock that contradicts them ends no lock. */
export interface CallerClocks {
  /** The wall clock of its host, in Unix milliseconds. */
  readonly wallMs: number;
  /** The last `nowMs` plus the time since that response; absent before the first response. */
  readonly nowMs?: number | undefined;
}

/** One attempt to hold a lock. */
export interface AcquireRequest {
  /** 1 to 128 visible characters without |, e.g. `order:7`. */
  readonly lock: string;
  /**
   * Names this attempt: random, 1 to 128 visible characters without |, and never reused. If the
   * response was lost, a second request with this name gets the same token.
   */
  readonly holder: string;
  /** The text that refused callers see: up to 256 characters, e.g. host, process, application. */
  readonly label: string;
  /** The duration of the lock without extension, from 1 ms to a day. */
  readonly ttlMs: number;
  /**
   * The longest `ttlMs` of any process that uses this store, at least that of this request. After a
   * loss of data, the store grants nothing for this time, since a lost lock may still be held.
   */
  readonly longestMs: number;
  /**
   * The highest token that this process has received for this lock from this store, 0n at first.
   * The next token is higher, and a store with only lower tokens has lost data.
   */
  readonly have: bigint;
  /** The highest era that this process has received from this store; absent at first. */
  readonly era?: number | undefined;
  /**
   * The highest token that this process has received for any lock of this store; absent at first.
   * No token is lower than the time of its grant, so a store behind it has lost data.
   */
  readonly highest?: bigint | undefined;
  readonly clocks?: CallerClocks | undefined;
}

/** A held lock. Both values are compared, so no holder is mistaken for another. */
export interface HeldLock {
  readonly lock: string;
  readonly holder: string;
  readonly token: bigint;
}

/** The request of a holder for more time. */
export interface ExtendRequest extends HeldLock {
  /** The new remaining duration of the lock. */
  readonly ttlMs: number;
  /** The era of the grant. */
  readonly era?: number | undefined;
  /** As in an acquire. */
  readonly highest?: bigint | undefined;
  readonly clocks?: CallerClocks | undefined;
  /** Replaces the note of the lock: 1 to 4000 characters. Absent to keep the note. */
  readonly note?: string | undefined;
  /**
   * An operator's order: it resets a lock clock that is ahead to the store's clock, which counts as
   * a loss of data. It extends nothing. A lock with this token ends within `ttlMs` or the longest
   * ttl.
   */
  readonly settles?: boolean | undefined;
}

/** The request of a holder that releases a lock. */
export interface ReleaseRequest extends Omit<HeldLock, 'token'> {
  /** Absent if the response to the acquire was lost, so the token is unknown. */
  readonly token?: bigint | undefined;
  /** How long other callers still cannot get the lock, up to a day; default 0. */
  readonly keepMs?: number | undefined;
  readonly clocks?: CallerClocks | undefined;
}

/** What a caller has observed of its store. */
export type Seen = Pick<ExtendRequest, 'highest' | 'clocks'>;

/** The clocks of a store at the moment of its response, in Unix milliseconds. */
export interface StoreClocks {
  /**
   * The clock by which locks end. Only an order sets it back, and it ignores lone steps forward.
   */
  readonly nowMs?: number | undefined;
  /** The clock of the store's host. */
  readonly timeMs?: number | undefined;
}

/** The lock is held for `ttlMs` by the caller's clock, from the moment the request was sent. */
export interface LockGrant extends StoreClocks {
  readonly status: 'ok';
  /** The fencing token: above 0n, below 2^63, higher than every earlier token. */
  readonly token: bigint;
  readonly ttlMs: number;
  /** The number of losses of data that the store has detected. */
  readonly era: number;
  /** In the response to an acquire: the most recent note; absent if there is none. */
  readonly note?: string | undefined;
}

/** Another caller holds the lock, and nothing was changed. */
export interface LockRefusal extends StoreClocks {
  readonly status: 'held';
  /** The holder's label. */
  readonly label: string;
  /** The remaining duration without extension. */
  readonly leftMs: number;
  /** The token of the holder. A new token means that the lock has changed hands. */
  readonly token?: bigint | undefined;
}

/** The response to an acquire: the lock, or the reason for a refusal. */
export type AcquireAnswer =
  | LockGrant
  | LockRefusal
  /**
   * The store grants no lock yet: it is new, it has lost data, or `longestMs` was raised. Send the
   * next request after this many ms.
   */
  | ({ readonly status: 'wait'; readonly waitMs: number } & StoreClocks);

/** The response to an extend: the extended lock, or its loss. */
export type ExtendAnswer =
  | LockGrant
  /** The lock is no longer held: its time is over, another caller has it, or data was lost. */
  | ({ readonly status: 'lost' } & StoreClocks);

/** A held lock, as shown to operators. */
export interface LockRecord {
  readonly lock: string;
  readonly label: string;
  readonly token: bigint;
  /** The time when it was acquired, by the store's clock. */
  readonly sinceMs: number;
  readonly leftMs: number;
  /** True if its holder has ended and the lock is only reserved: `holdAtLeastMs`. */
  readonly isKept: boolean;
}

/**
 * The text that a holder leaves for the next holders. The store keeps it for 400 days after the
 * lock ends, unless it loses data.
 */
export interface LockNote {
  readonly lock: string;
  readonly note: string;
}

/**
 * A store of locks. Every operation is one atomic step, by the store's clock. It throws failures as
 * SnowflakeErrors, preferably STORE_UNAVAILABLE. A failed operation may have succeeded, so the
 * caller repeats it or releases the lock.
 *
 * @example
 * ```ts
 * import { randomUUID } from 'node:crypto';
 * import type { LockStore } from 'nestjs-snowflake/lock';
 *
 * async function tokenOf(store: LockStore, lock: string): Promise<bigint | undefined> {
 *   const who = { lock, holder: randomUUID(), label: 'report' };
 *   const answer = await store.acquire({ ...who, ttlMs: 5000, longestMs: 10_000, have: 0n });
 *   return answer.status === 'ok' ? answer.token : undefined;
 * }
 * ```
 */
export interface LockStore {
  /** @throws SnowflakeError CONFIG_INVALID for an invalid request */
  acquire(request: AcquireRequest): Promise<AcquireAnswer>;
  extend(request: ExtendRequest): Promise<ExtendAnswer>;
  /** Changes nothing if this holder no longer has the lock. */
  release(request: ReleaseRequest): Promise<void>;
  /** Resolves when the lock may be free, after `limitMs`, or when the signal is aborted. */
  untilReleased?(lock: string, limitMs: number, signal: AbortSignal): Promise<void>;
  /** All held locks, in the order of their names. */
  locks?(): Promise<LockRecord[]>;
  /** All notes, in the order of lock names. */
  notes?(): Promise<LockNote[]>;
  /**
   * The maximum age of acknowledged writes that the store may lose. 0 if it loses none. Otherwise,
   * the time between two fsyncs plus how long an old primary responds after a failover.
   */
  readonly lossWindowMs: number;
  /** The location of the locks, as text for operators without secrets. */
  readonly location?: string | undefined;
  /** The risks to the locks, one sentence each. */
  advice?(): Promise<string[]>;
  /** Closes the connections that the store opened itself. */
  close?(): Promise<void>;
}

/*
 * Validates requests before they reach a store.
 *
 * Guarantee: no lock has a name that the store reserves, such as that of the header's row.
 */

export const TTL_MS_MAX = 86_400_000;
export const NOTE_LENGTH_MAX = 4000;
const LABEL = /^\P{C}{1,256}$/u;

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkAcquire(request: AcquireRequest): void {
  const { label, ttlMs, longestMs, have, era = 0 } = request;
  refuseRequest([
    ...namesFaults(request),
    ...(typeof label === 'string' && LABEL.test(label)
      ? []
      : ['Expected `label` to be 1 to 256 characters that can be printed.']),
    ...wholeFaults('ttlMs', ttlMs, [1, TTL_MS_MAX]),
    ...wholeFaults('longestMs', longestMs, [ttlMs >= 1 ? ttlMs : 1, TTL_MS_MAX]),
    ...bigintFaults('have', have, 0n),
    ...wholeFaults('era', era, [0, Number.MAX_SAFE_INTEGER]),
    ...seenFaults(request),
  ]);
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkExtend(request: ExtendRequest): void {
  refuseRequest([
    ...namesFaults(request),
    ...bigintFaults('token', request.token, 0n),
    ...wholeFaults('ttlMs', request.ttlMs, [1, TTL_MS_MAX]),
    ...wholeFaults('era', request.era ?? 0, [0, Number.MAX_SAFE_INTEGER]),
    ...seenFaults(request),
    ...(request.note === undefined ? [] : noteFaults(request.note)),
  ]);
}

/** Returns the error of a note, for any lock. */
export function noteFaults(note: unknown): string[] {
  if (typeof note === 'string' && note !== '' && note.length <= NOTE_LENGTH_MAX) return [];
  const got = typeof note === 'string' ? `${note.length}` : typeof note;
  return [`Expected \`note\` to be a text of 1 to ${NOTE_LENGTH_MAX} characters, got ${got}.`];
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkRelease(request: ReleaseRequest): void {
  const { token, keepMs } = request;
  refuseRequest([
    ...namesFaults(request),
    ...(token === undefined ? [] : bigintFaults('token', token, 0n)),
    ...(keepMs === undefined ? [] : wholeFaults('keepMs', keepMs, [0, TTL_MS_MAX])),
    ...seenFaults(request),
  ]);
}

function namesFaults({ lock, holder }: { readonly lock: string; readonly holder: string }) {
  return [...nameFaults('lock', lock), ...nameFaults('holder', holder)];
}

function seenFaults({ highest, clocks }: Seen): string[] {
  return [
    ...(highest === undefined ? [] : bigintFaults('highest', highest, 0n)),
    ...Object.entries({ ...clocks }).flatMap(([name, ms]) =>
      ms === undefined ? [] : wholeFaults(`clocks.${name}`, ms, [0, Number.MAX_SAFE_INTEGER]),
    ),
  ];
}

function refuseRequest(faults: readonly string[]): void {
  refuse(faults, 'This request for a lock is invalid. ');
}

/*
 * The names of a lock's permits, which are locks themselves. The first permit is the lock itself,
 * so a lock without permits has one.
 */

export const PERMITS_MAX = 100;

export function permitName(lock: string, permit: number): string {
  return permit === 1 ? lock : `${lock}#${permit}`;
}

/*
 * Builds lock names from arbitrary texts.
 *
 * Guarantee: any texts give a valid name, and different texts give different names if : or /
 * separates them.
 */

const LENGTH_MAX = 128;
const DIGEST_LENGTH = 64;
/** Characters that a name cannot hold, separators, and words that look like a missing value. */
const ESCAPED = /[\s\p{C}|%:/]|undefined|null|NaN/gu;

/**
 * Returns a lock name from a template. Values may be any text of any length, but none may be
 * missing.
 *
 * @throws SnowflakeError ARGUMENT_INVALID for a part that is undefined, null, NaN, empty, or
 *   neither a string nor a number: all callers without a value would share a lock. Also for half of
 *   a surrogate pair: all halves are equal in UTF-8.
 * @example
 * ```ts
 * import { Locked, lockKey } from 'nestjs-snowflake/lock';
 *
 * const keyOf = (mail: string) => lockKey`mail:${mail}`;
 * export class Mails {@Locked(keyOf) async send(mail: string) {}}
 * ```
 */
export function lockKey(
  texts: TemplateStringsArray,
  ...parts: readonly (string | number | bigint)[]
): string {
  for (const [at, part] of parts.entries()) check(part, at + 1);
  const name = texts.map((text, at) => text + escaped(String(parts[at] ?? ''))).join('');
  if (name.length <= LENGTH_MAX) return name;
  const digest = createHash('sha256').update(name).digest('hex');
  // Half of a surrogate pair is not a character.
  const start = name.slice(0, LENGTH_MAX - DIGEST_LENGTH - 1).replace(/\p{Cs}$/u, '');
  return `${start}~${digest}`;
}

function isPart(part: unknown): boolean {
  if (typeof part === 'number') return !Number.isNaN(part);
  return typeof part === 'bigint' || (typeof part === 'string' && part !== '');
}

/** Escapes byte by byte, as in a URL. */
function escaped(part: string): string {
  return part.replace(ESCAPED, (found) => {
    return Buffer.from(found).toString('hex').replaceAll(/../g, '%$&');
  });
}

function check(part: unknown, number: number): void {
  const at = typeof part === 'string' ? part.search(/\p{Cs}/u) : -1;
  if (isPart(part) && at < 0) return;
  const fault =
    at < 0
      ? `is ${format(part)}, and everybody without it would wait for each other. Nothing was ` +
        'done. Give a text that is not empty, or a number.'
      : `has half of a surrogate pair at ${at + 1}, and all halves are one in UTF-8. Nothing was ` +
        'done. Give whole characters.';
  throw new SnowflakeError('ARGUMENT_INVALID', `Part ${number} of the key of a lock ${fault}`);
}
