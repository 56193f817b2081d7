/**
 * The input and output of the lock rules: the store's records of a lock and of all locks, read at
 * one moment, and the records to write. The store never interprets a record.
 */
import { nowAt, type ClockState, type LaterTime } from '../rows/store-clock.js';
import type { LockNote, LockRecord } from './lock-store.js';

/** The record of a store apart from its locks. */
export interface LockHeader extends ClockState {
  readonly incarnation: string;
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** The longest ttl of any process: every lost lock ends within this time. */
  readonly longestMs: number;
  /** The limit for granted ttls before `provenAtMs`: a loss of data could undo the raise. */
  readonly provenMs: number;
  readonly provenAtMs: number;
  /** The store grants no lock before this time. */
  readonly readyAtMs: number;
  /** A token up to this proves no loss, because it is older than the last loss. */
  readonly forgottenTo: bigint;
}

/** The record of one lock. */
export interface LockRow {
  /** The token of the last grant. */
  readonly token: bigint;
  /** The era of the grant. If the header has another one, the lock is not held. */
  readonly era: number;
  /** Empty after a release. */
  readonly holder: string;
  readonly label: string;
  readonly sinceMs: number;
  /** No other caller gets the lock before this time. */
  readonly untilMs: number;
  /** The note of a holder for the next holders; absent if there is none. */
  readonly note?: string | undefined;
}

export interface LockSnapshot {
  /** Undefined if there is none. */
  readonly header: LockHeader | undefined;
  readonly row: LockRow | undefined;
}

/**
 * The result of an operation, valid once its records are written. An absent record stays unchanged.
 */
export interface LockStep<T> {
  readonly answer: T;
  readonly header?: LockHeader;
  readonly row?: LockRow;
}

/*
 * Fencing tokens rise even if the store has lost the last one, because no token is lower than the
 * time of its grant.
 */

/** Several grants of a lock within one ms put its token ahead of the time, which is harmless. */
const TOKENS_PER_MS = 4096n;

/** The record of a lock is kept for this long after its end, so its token can prove a loss. */
export const KEPT_MS = 60_000;
/** A note is useful until the lock is held again, which may be a year later. */
const NOTE_KEPT_MS = 400 * 86_400_000;

/** The stored clock may lag behind the returned one by this much. */
export const HEADER_AGE_MS = KEPT_MS / 10;

export function firstTokenAt(ms: number): bigint {
  return BigInt(ms) * TOKENS_PER_MS;
}

/** The latest possible time of the grant. */
export function timeOf(token: bigint): number {
  return Number(token / TOKENS_PER_MS);
}

/** Returns a token that is higher than all known ones. */
export function nextToken(lastToken: bigint, have: bigint, nowMs: number): bigint {
  const known = have > lastToken ? have : lastToken;
  const first = firstTokenAt(nowMs);
  return known >= first ? known + 1n : first;
}

/** Returns a token: once the lock's token reaches it, the record is not needed. */
export function forgettableFrom({ token, untilMs, note }: LockRow): bigint {
  const end = firstTokenAt(untilMs);
  const keptMs = note === undefined ? KEPT_MS : NOTE_KEPT_MS;
  return (token > end ? token : end) + firstTokenAt(keptMs);
}

/* Locks, as shown to operators. */

export interface NamedLock {
  readonly lock: string;
  readonly row: LockRow;
}

/** The locks that no other caller can get now, in the order of their names. */
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

export function lockNotes(locks: readonly NamedLock[]): LockNote[] {
  return locks
    .flatMap(({ lock, row: { note } }) => (note === undefined ? [] : [{ lock, note }]))
    .toSorted((a, b) => (a.lock < b.lock ? -1 : 1));
}
