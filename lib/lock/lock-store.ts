/**
 * The contract between the holders of locks and the store that keeps them. The store says which
 * holder has a lock, until when by its own clock, and with which fencing token.
 *
 * Guarantee: no caller is granted a lock that another one holds by the store's clock, and every
 * token is higher than all before it, as long as the store loses no write that is older than
 * `lossWindowMs`.
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import { format } from '../messages.js';
import { bigintFaults, nameFaults, refuse, wholeFaults } from '../options.js';

/** The clocks of a caller: a step of the store's clock that they contradict ends no lock. */
export interface CallerClocks {
  /** The wall clock of its host, in Unix milliseconds. */
  readonly wallMs: number;
  /** The last `nowMs` plus the time since the answer; absent before the first one. */
  readonly nowMs?: number | undefined;
}

/** One attempt to hold a lock. */
export interface AcquireRequest {
  /** 1 to 128 visible characters without |, e.g. `order:7`. */
  readonly lock: string;
  /**
   * Names this attempt: random, 1 to 128 visible characters without |, never used for another. If
   * the answer was lost, a second request with it gets the same token.
   */
  readonly holder: string;
  /** A refused caller sees this: up to 256 characters, e.g. host, process, application. */
  readonly label: string;
  /** How long the lock is held unless it is extended, from 1 ms to a day. */
  readonly ttlMs: number;
  /**
   * The longest `ttlMs` of any process that uses this store, at least the one of this request. For
   * this time nothing is granted after a loss of data, since a forgotten lock may still be held.
   */
  readonly longestMs: number;
  /**
   * The highest token that this process ever got for this lock of this store, 0n at first. The next
   * one is higher, and a store that remembers less has lost data.
   */
  readonly have: bigint;
  /** The highest era that this process ever got from this store; absent at first. */
  readonly era?: number | undefined;
  /**
   * The highest token that this process ever got for any lock of this store, absent at first. No
   * token is lower than the time of its grant, so a store behind it has lost data.
   */
  readonly highest?: bigint | undefined;
  readonly clocks?: CallerClocks | undefined;
}

/**
 * A lock that is held. Both values are compared, so that it is never confused with another
 * holder's.
 */
export interface HeldLock {
  readonly lock: string;
  readonly holder: string;
  readonly token: bigint;
}

/** The request of a holder for more time. */
export interface ExtendRequest extends HeldLock {
  /** How long it is held from now on. */
  readonly ttlMs: number;
  /** The era of the grant. */
  readonly era?: number | undefined;
  /** The same as for an acquire. */
  readonly highest?: bigint | undefined;
  readonly clocks?: CallerClocks | undefined;
  /** Replaces the note of the lock: 1 to 4000 characters. Absent if it stays as it is. */
  readonly note?: string | undefined;
  /**
   * An operator's order: a clock of locks that is ahead comes back to the store's, which counts as
   * a loss of data. Nothing is extended; the lock, if it has this token, ends within `ttlMs` or the
   * longest ttl.
   */
  readonly settles?: boolean | undefined;
}

/** The request of a holder that gives a lock back. */
export interface ReleaseRequest extends Omit<HeldLock, 'token'> {
  /** Absent if the answer of the acquire was lost, so that the token is unknown. */
  readonly token?: bigint | undefined;
  /** How long no other caller shall get it all the same, up to a day; default 0. */
  readonly keepMs?: number | undefined;
  readonly clocks?: CallerClocks | undefined;
}

/** What a caller has seen of its store. */
export type Seen = Pick<ExtendRequest, 'highest' | 'clocks'>;

/** The clocks of a store at the moment of its answer, in Unix milliseconds. */
export interface StoreClocks {
  /** The clock by which locks end: only an order sets it back, and it follows no step forward alone. */
  readonly nowMs?: number | undefined;
  /** The clock of the store's host. */
  readonly timeMs?: number | undefined;
}

/** The lock is held from the moment the request left, for `ttlMs`, by the clock of the caller. */
export interface LockGrant extends StoreClocks {
  readonly status: 'ok';
  /** The fencing token: above 0n, below 2^63, higher than every one before it. */
  readonly token: bigint;
  readonly ttlMs: number;
  /** Counts the losses of data that the store has noticed. */
  readonly era: number;
  /** In the answer to an acquire: the note that a holder wrote last; absent without one. */
  readonly note?: string | undefined;
}

/** Another caller holds it, and nothing was changed. */
export interface LockRefusal extends StoreClocks {
  readonly status: 'held';
  /** The label that the holder gave. */
  readonly label: string;
  /** How long it is held unless it is extended. */
  readonly leftMs: number;
  /** The token of the holder. A new one means that the lock changes hands. */
  readonly token?: bigint | undefined;
}

/** The answer to an acquire: the lock, or why it is not granted. */
export type AcquireAnswer =
  | LockGrant
  | LockRefusal
  /**
   * The store grants no lock yet: it is new, it has lost data, or `longestMs` was raised. Ask again
   * after so many ms.
   */
  | ({ readonly status: 'wait'; readonly waitMs: number } & StoreClocks);

/** The answer to an extend: the lock for longer, or that it is lost. */
export type ExtendAnswer =
  | LockGrant
  /** It is no longer held: its time is over, another caller has it, or the store has lost data. */
  | ({ readonly status: 'lost' } & StoreClocks);

/** An operator sees this of a lock that is held. */
export interface LockRecord {
  readonly lock: string;
  readonly label: string;
  readonly token: bigint;
  /** The time when it was acquired, by the store's clock. */
  readonly sinceMs: number;
  readonly leftMs: number;
  /** True if its holder has ended and it is only kept from others: `holdAtLeastMs`. */
  readonly isKept: boolean;
}

/**
 * The text that the holders of a lock leave for the next ones. It outlives the lock by 400 days,
 * and does not outlive a loss of the store's data.
 */
export interface LockNote {
  readonly lock: string;
  readonly note: string;
}

/**
 * A store of locks. Every operation is one atomic step, by the store's clock. Failures are thrown
 * as SnowflakeErrors, best STORE_UNAVAILABLE; a failed operation may have been carried out, and is
 * requested again, or released.
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
  /** @throws SnowflakeError CONFIG_INVALID for a request that cannot be meant so */
  acquire(request: AcquireRequest): Promise<AcquireAnswer>;
  extend(request: ExtendRequest): Promise<ExtendAnswer>;
  /** Changes nothing if the lock is no longer held so. */
  release(request: ReleaseRequest): Promise<void>;
  /** Resolves when the lock may be free, after `limitMs`, or when the signal is aborted. */
  untilReleased?(lock: string, limitMs: number, signal: AbortSignal): Promise<void>;
  /** All locks that are held, in the order of their names. */
  locks?(): Promise<LockRecord[]>;
  /** All notes, in the order of the names of their locks. */
  notes?(): Promise<LockNote[]>;
  /**
   * How old acknowledged writes may be that the store loses: 0 if it loses none; otherwise the time
   * between two fsyncs, and how long an old primary answers after a failover.
   */
  readonly lossWindowMs: number;
  /** The place of the locks, in words for the operator, without secrets. */
  readonly location?: string | undefined;
  /** The dangers to the locks, one sentence each. */
  advice?(): Promise<string[]>;
  /** Closes what the store opened itself. */
  close?(): Promise<void>;
}

/*
 * The check of requests before a store is asked.
 *
 * Guarantee: a name of the store's own, such as that of the header's row, is never that of a lock.
 */

export const TTL_MS_MAX = 86_400_000;
export const NOTE_LENGTH_MAX = 4000;
const LABEL = /^\P{C}{1,256}$/u;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
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

/** @throws SnowflakeError CONFIG_INVALID with every fault */
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

/** What is wrong with a note, whichever lock it is of. */
export function noteFaults(note: unknown): string[] {
  if (typeof note === 'string' && note !== '' && note.length <= NOTE_LENGTH_MAX) return [];
  const got = typeof note === 'string' ? `${note.length}` : typeof note;
  return [`Expected \`note\` to be a text of 1 to ${NOTE_LENGTH_MAX} characters, got ${got}.`];
}

/** @throws SnowflakeError CONFIG_INVALID with every fault */
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
 * Permits of a lock are locks by these names. The first one is the lock itself, so that a lock
 * without permits has one.
 */

export const PERMITS_MAX = 100;

export function permitName(lock: string, permit: number): string {
  return permit === 1 ? lock : `${lock}#${permit}`;
}

/*
 * The name of a lock, made of foreign texts.
 *
 * Guarantee: any texts give a valid name, and different texts give different names if : or / stands
 * between them.
 */

const LENGTH_MAX = 128;
const DIGEST_LENGTH = 64;
/** Characters that a name cannot hold, separators, and words that look like a missing value. */
const ESCAPED = /[\s\p{C}|%:/]|undefined|null|NaN/gu;

/**
 * The name of a lock by a template: any text can stand in it, of any length, but none may be
 * missing.
 *
 * @throws SnowflakeError ARGUMENT_INVALID for a part that is undefined, null, NaN, empty, or
 *   neither text nor number, since all callers without one would share a lock; and for half of a
 *   surrogate pair, since all halves are one in UTF-8
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
  // Half of a surrogate pair would be no character.
  const start = name.slice(0, LENGTH_MAX - DIGEST_LENGTH - 1).replace(/\p{Cs}$/u, '');
  return `${start}~${digest}`;
}

function isPart(part: unknown): boolean {
  if (typeof part === 'number') return !Number.isNaN(part);
  return typeof part === 'bigint' || (typeof part === 'string' && part !== '');
}

/** Escapes byte by byte, like a URL. */
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
