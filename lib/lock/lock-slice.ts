/**
 * A lock as its rules see it: what a store remembers of it and of all locks, read at one moment,
 * and what is written out. The store never has to understand what it writes.
 */
import type { StoreReading } from '../registry/slice.js';
import { nowAt, type ClockState, type LaterTime } from '../rows/store-clock.js';
import type { LockRecord } from './lock-store.js';
/** What a store remembers besides its locks. */
export interface LockHeader extends ClockState {
  readonly incarnation: string;
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** The longest ttl that anybody asks for: all that can be forgotten ends by then. */
  readonly longestMs: number;
  /** No longer ttl than this is granted before `provenAtMs`: until then the raise may be lost. */
  readonly provenMs: number;
  readonly provenAtMs: number;
  /** Nothing is granted before. */
  readonly readyAtMs: number;
  /** No token up to this proves a loss: it is of before the last one. */
  readonly forgottenTo: bigint;
}

/** What a store remembers of one lock. */
export interface LockRow {
  /** The last one granted. */
  readonly token: bigint;
  /** In which it was granted: in another one than the header's it is not held. */
  readonly era: number;
  /** Empty where it was released. */
  readonly holder: string;
  readonly label: string;
  readonly sinceMs: number;
  /** Nobody else is granted the lock before. */
  readonly untilMs: number;
}

export interface LockSlice {
  /** Undefined where there is none. */
  readonly header: LockHeader | undefined;
  readonly row: LockRow | undefined;
}

/** What an operation answers, once what it says is written; what is absent stays as it is. */
export interface LockStep<T> {
  readonly answer: T;
  readonly header?: LockHeader;
  readonly row?: LockRow;
}

/** What the store itself brings to an operation. */
export type LockReading = StoreReading;

/*
 * Fencing tokens: numbers that rise, also where the store has forgotten the last one, because they
 * are not lower than the time they were granted at.
 */

/** More grants of one lock within one ms are ahead of the time, which does no harm. */
const TOKENS_PER_MS = 4096n;

/** So long after its end a lock is remembered, so that whoever has its token proves a loss. */
export const KEPT_MS = 60_000;

/** The clock that is stored may lag what was answered by this much. */
export const HEADER_AGE_MS = KEPT_MS / 10;

export function firstTokenAt(ms: number): bigint {
  return BigInt(ms) * TOKENS_PER_MS;
}

/** When it was granted at the latest. */
export function timeOf(token: bigint): number {
  return Number(token / TOKENS_PER_MS);
}

/** Higher than all that are known. */
export function nextToken(lastToken: bigint, have: bigint, nowMs: number): bigint {
  const known = have > lastToken ? have : lastToken;
  const first = firstTokenAt(nowMs);
  return known >= first ? known + 1n : first;
}

/** True where the next token is higher than its last one also without it. */
export function isForgettable(row: Forgettable, nowMs: number): boolean {
  return forgettableFrom(row) <= firstTokenAt(nowMs);
}

interface Forgettable {
  readonly token: bigint;
  readonly untilMs: number;
}

/** As a token: one that is granted from there on needs nothing of what is remembered. */
export function forgettableFrom({ token, untilMs }: Forgettable): bigint {
  const end = firstTokenAt(untilMs);
  return (token > end ? token : end) + firstTokenAt(KEPT_MS);
}

/*
 * Locks as an operator sees them.
 *
 * Guarantee: nothing is changed by looking.
 */

export interface NamedLock {
  readonly lock: string;
  readonly row: LockRow;
}

/** Those that nobody else can have now, in the order of their names. */
export function lockRecords(
  header: ClockState,
  locks: readonly NamedLock[],
  later: LaterTime,
): LockRecord[] {
  const nowMs = nowAt(header, later);
  return locks
    .filter(({ row }) => row.untilMs > nowMs)
    .toSorted((a, b) => (a.lock < b.lock ? -1 : 1))
    .map(({ lock, row: { holder, label, token, sinceMs, untilMs } }) => {
      return { lock, label, token, sinceMs, leftMs: untilMs - nowMs, isKept: holder === '' };
    });
}
