/**
 * The beginning of every operation on a lock: the clock moves on, and a loss of data is noticed.
 *
 * Promise: the clock never goes back; after a loss nothing is granted until whatever was forgotten
 * has ended, and what an older server may grant beside this one as well.
 */
import { nowOf, slewed } from '../registry/registry-clock.js';
import type { LockHeader, LockReading, LockRow } from './lock-slice.js';
import { SANE_MS } from '../registry/layout-claim.js';
import type { HighestToken } from './lock-store.js';
import { HEADER_AGE_MS, KEPT_MS, firstTokenAt, timeOf } from './token.js';

/** So exactly a survivor tells how far ahead the store was that was lost. */
const AHEAD_STEP_MS = 1000;

/** An absent header cannot be told from a lost one, so that none is believed to be new. */
export function created(
  longestMs: number,
  reading: LockReading,
  highest?: HighestToken,
): LockHeader {
  return forgotten(movedTo(newHeader(longestMs, reading), highest), reading);
}

/** Of a store that begins with the process it lies in: there was nothing before it to be lost. */
export function newHeader(longestMs: number, { timeMs, server, random }: LockReading): LockHeader {
  return {
    incarnation: random,
    server,
    lastTimeMs: timeMs,
    slewMs: 0,
    era: 0,
    longestMs,
    provenMs: 0,
    provenAtMs: 0,
    readyAtMs: 0,
    forgottenTo: 0n,
  };
}

export function opened(stored: LockHeader, reading: LockReading): LockHeader {
  const { timeMs, server, isPutBack, clock = slewed } = reading;
  const moved = { ...stored, ...clock(stored, timeMs) };
  const isSame = moved.server === server && isPutBack !== true;
  return isSame ? moved : forgotten({ ...moved, server }, reading);
}

/** Acknowledged writes may be gone: whatever they were, it has ended by then. */
function forgotten(header: LockHeader, { lossWindowMs }: LockReading): LockHeader {
  const nowMs = nowOf(header);
  const readyAtMs = Math.max(header.readyAtMs, nowMs + header.longestMs + lossWindowMs);
  const forgottenTo = greatest(header.forgottenTo, firstTokenAt(nowMs));
  return { ...header, era: header.era + 1, readyAtMs, forgottenTo };
}

/** Whoever was answered a higher token than the store remembers proves that it has forgotten. */
export function heard(
  header: LockHeader,
  row: LockRow | undefined,
  { have, reading }: { readonly have: bigint; readonly reading: LockReading },
): LockHeader {
  const isMissing = row === undefined ? timeOf(have) + KEPT_MS > nowOf(header) : have > row.token;
  if (!isMissing || have <= header.forgottenTo) return header;
  const forgottenTo = greatest(header.forgottenTo, have);
  return forgotten({ ...header, forgottenTo }, reading);
}

/**
 * A token of a time that is far from having come was granted by a store that this one has
 * forgotten, and whose clock was ahead of this one's. What was granted since then is lost as well.
 */
export function heardHighest(
  header: LockHeader,
  highest: HighestToken | undefined,
  reading: LockReading,
): LockHeader {
  if (highest === undefined || timeOf(highest.token) <= nowOf(header) + HEADER_AGE_MS) {
    return header;
  }
  const moved = movedTo(header, highest);
  return moved === header ? header : forgotten(moved, reading);
}

/** In whole steps, so that a fleet of survivors moves it once; never by a day, which is a fault. */
function movedTo(header: LockHeader, highest?: HighestToken): LockHeader {
  if (highest === undefined) return header;
  const aheadMs = timeOf(highest.token) + highest.ageMs - nowOf(header);
  if (aheadMs <= 0 || aheadMs >= SANE_MS) return header;
  const stepMs = Math.ceil(aheadMs / AHEAD_STEP_MS) * AHEAD_STEP_MS;
  return { ...header, slewMs: header.slewMs + stepMs };
}

/**
 * Whoever knows of more losses than the store was answered by one that took over from it: this one
 * was left, and what the other one granted may still be held.
 */
export function heardEra(header: LockHeader, era = 0, reading: LockReading): LockHeader {
  return era > header.era ? forgotten({ ...header, era }, reading) : header;
}

function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/**
 * A longer ttl is recorded before it is granted: a loss that took both with it would be waited for
 * as long as the shorter one. What the last loss forgot may end later than was known then.
 */
export function raised(
  header: LockHeader,
  longestMs: number,
  { lossWindowMs }: LockReading,
): LockHeader {
  const longerMs = longestMs - header.longestMs;
  if (longerMs <= 0) return header;
  const nowMs = nowOf(header);
  const isWaiting = header.readyAtMs > nowMs;
  return {
    ...header,
    longestMs,
    provenMs: provenMsOf(header),
    provenAtMs: nowMs + lossWindowMs,
    readyAtMs: header.readyAtMs + (isWaiting ? longerMs : 0),
  };
}

/** The longest ttl of which no loss can take the record with it. */
function provenMsOf(header: LockHeader): number {
  return nowOf(header) >= header.provenAtMs ? header.longestMs : header.provenMs;
}

/** For how long nothing of this ttl is granted to anybody. */
export function waitMsOf(header: LockHeader, ttlMs: number): number {
  const isProven = ttlMs <= provenMsOf(header);
  const atMs = isProven ? header.readyAtMs : Math.max(header.readyAtMs, header.provenAtMs);
  return Math.max(0, atMs - nowOf(header));
}
