/**
 * A lock as its rules see it: the records of the store about it and about all locks, read at one
 * moment, and the records to write. The store never has to understand what it writes.
 */
import { nowAt, type ClockState, type LaterTime } from '../rows/store-clock.js';
import type { LockNote, LockRecord } from './lock-store.js';

/** The record of a store besides its locks. */
export interface LockHeader extends ClockState {
  readonly incarnation: string;
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** The longest ttl of any process: every forgotten lock ends within it. */
  readonly longestMs: number;
  /** No longer ttl than this is granted before `provenAtMs`: until then the raise may be lost. */
  readonly provenMs: number;
  readonly provenAtMs: number;
  /** No lock is granted before this. */
  readonly readyAtMs: number;
  /** A token up to this proves no loss: it is older than the last one. */
  readonly forgottenTo: bigint;
}

/** The record of one lock. */
export interface LockRow {
  /** The token of the last grant. */
  readonly token: bigint;
  /** The era of the grant. If the header has another one, the lock is not held. */
  readonly era: number;
  /** It is empty after a release. */
  readonly holder: string;
  readonly label: string;
  readonly sinceMs: number;
  /** No other caller is granted the lock before this. */
  readonly untilMs: number;
  /** The text that a holder left for the next ones; absent without one. */
  readonly note?: string | undefined;
}

export interface LockSnapshot {
  /** It is undefined if there is none. */
  readonly header: LockHeader | undefined;
  readonly row: LockRow | undefined;
}

/**
 * The answer of an operation, to be given after its records are written. An absent record stays
 * unchanged.
 */
export interface LockStep<T> {
  readonly answer: T;
  readonly header?: LockHeader;
  readonly row?: LockRow;
}

/*
 * Fencing tokens rise, even if the store has forgotten the last one, because they are not lower
 * than the time they were granted at.
 */

/** More grants of one lock within one ms run ahead of the time, which does no harm. */
const TOKENS_PER_MS = 4096n;

/** A lock is remembered for so long after its end, so that its token can prove a loss. */
export const KEPT_MS = 60_000;
/** A note is of use until the lock is held again, which may be once a year. */
const NOTE_KEPT_MS = 400 * 86_400_000;

/** The stored clock may lag behind the answered one by this much. */
export const HEADER_AGE_MS = KEPT_MS / 10;

export function firstTokenAt(ms: number): bigint {
  return BigInt(ms) * TOKENS_PER_MS;
}

/** The latest time at which it can have been granted. */
export function timeOf(token: bigint): number {
  return Number(token / TOKENS_PER_MS);
}

/** Returns a token that is higher than all known ones. */
export function nextToken(lastToken: bigint, have: bigint, nowMs: number): bigint {
  const known = have > lastToken ? have : lastToken;
  const first = firstTokenAt(nowMs);
  return known >= first ? known + 1n : first;
}

/** Returns a token: after a grant from that time on, the record is not needed. */
export function forgettableFrom({ token, untilMs, note }: LockRow): bigint {
  const end = firstTokenAt(untilMs);
  const keptMs = note === undefined ? KEPT_MS : NOTE_KEPT_MS;
  return (token > end ? token : end) + firstTokenAt(keptMs);
}

/* Locks as an operator sees them. */

export interface NamedLock {
  readonly lock: string;
  readonly row: LockRow;
}

/** The locks that no other caller can have now, in the order of their names. */
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
