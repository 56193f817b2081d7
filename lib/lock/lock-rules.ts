/**
 * Grants a free lock, or repeats the grant to the same attempt.
 *
 * Guarantee: of two callers, one gets the lock and the other gets the holder's label. After a loss
 * of data, no lock is granted until every possibly lost holder has ended.
 */
import { SANE_MS } from '../registry/prologue.js';
import type { StoreReading } from '../rows/row-store.js';
import { nowOf, slewed, STEP_MS } from '../rows/store-clock.js';
import {
  firstTokenAt,
  HEADER_AGE_MS,
  KEPT_MS,
  nextToken,
  timeOf,
  type LockHeader,
  type LockRow,
  type LockSnapshot,
  type LockStep,
} from './lock-snapshot.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  CallerClocks,
  ExtendAnswer,
  ExtendRequest,
  ReleaseRequest,
  Seen,
} from './lock-store.js';

export function acquireLock(
  snapshot: LockSnapshot,
  request: AcquireRequest,
  reading: StoreReading,
): LockStep<AcquireAnswer> {
  const { row } = snapshot;
  const header = observeAll(snapshot, request, reading);
  const nowMs = nowOf(header);
  const endMs = nowMs + (reading.lateMs ?? 0) + request.ttlMs;
  if (row !== undefined && isHeldBy(row, header, request.holder)) {
    const untilMs = Math.max(row.untilMs, endMs);
    return grant(header, { ...row, untilMs }, request, reading);
  }
  const others = row !== undefined && row.untilMs > nowMs ? row : undefined;
  const waitMs = waitMsOf(header, request.ttlMs);
  const clocks = { nowMs, timeMs: reading.timeMs };
  // A holder from before the loss will lose the lock.
  if (waitMs > 0 && others?.era !== header.era) {
    return { answer: { status: 'wait', waitMs, ...clocks }, header };
  }
  if (others !== undefined) {
    const { label, untilMs, token } = others;
    const leftMs = untilMs - nowMs;
    return { answer: { status: 'held', label, leftMs, token, ...clocks }, header };
  }
  const { holder, label, have } = request;
  const token = nextToken(greatest(row?.token ?? 0n, header.forgottenTo), have, nowMs);
  const moment = { sinceMs: nowMs, untilMs: endMs };
  const left = row?.note === undefined ? {} : { note: row.note };
  const granted = { token, era: header.era, holder, label, ...moment, ...left };
  return grant(header, granted, request, reading);
}

function observeAll(
  { header, row }: LockSnapshot,
  request: AcquireRequest,
  reading: StoreReading,
): LockHeader {
  const { longestMs, have, era } = request;
  if (header === undefined) {
    // An absent header is indistinguishable from a lost one, so it never counts as new.
    const created = moveClock(newHeader(longestMs, reading), request);
    return observeEra(recordLoss(created, reading), era, reading);
  }
  const timed = observeTime(header, request, reading);
  const moved = observeEra(timed, era, reading);
  const known = observeToken(moved, row, { have, reading });
  return raiseLongest(known, longestMs, reading);
}

/** True if this same attempt holds the lock, with no loss of data since. */
function isHeldBy(row: LockRow, header: LockHeader, holder: string): boolean {
  return row.holder === holder && row.era === header.era && row.untilMs > nowOf(header);
}

function grant(
  header: LockHeader,
  row: LockRow,
  { ttlMs }: AcquireRequest,
  { timeMs }: StoreReading,
): LockStep<AcquireAnswer> {
  const { token, note } = row;
  const left = note === undefined ? {} : { note };
  const clocks = { nowMs: nowOf(header), timeMs };
  const answer = { status: 'ok', token, ttlMs, era: header.era, ...clocks, ...left } as const;
  return { answer, header, row };
}

/*
 * Extends a lock for its holder, and for no other caller.
 *
 * Guarantee: a lock that has ended, by its time, a release, or a loss of data, is never held again.
 */

export function extendLock(
  { header: stored, row }: LockSnapshot,
  request: ExtendRequest,
  reading: StoreReading,
): LockStep<ExtendAnswer> {
  const { holder, token, ttlMs, era, note, settles } = request;
  const { timeMs } = reading;
  if (stored === undefined) return { answer: { status: 'lost' } };
  if (settles === true) return settle({ header: stored, row }, request, reading);
  const timed = observeTime(stored, request, reading);
  const moved = observeEra(timed, era, reading);
  // The row of a long-held lock may have been removed, which proves nothing.
  const header = row === undefined ? moved : observeToken(moved, row, { have: token, reading });
  const isHeld = row !== undefined && row.token === token && isHeldBy(row, header, holder);
  const clocks = { nowMs: nowOf(header), timeMs };
  if (!isHeld) return { answer: { status: 'lost', ...clocks }, header };
  const untilMs = Math.max(row.untilMs, nowOf(header) + (reading.lateMs ?? 0) + ttlMs);
  const answer = { status: 'ok', token, ttlMs, era: header.era, ...clocks } as const;
  return { answer, header, row: { ...row, untilMs, ...(note !== undefined && { note }) } };
}

/*
 * Resets the lock clock to the store's clock, on an operator's order. This counts as a loss of
 * data, and the lock of the request ends within the longest ttl.
 *
 * Guarantee: later tokens are higher than all tokens from the time ahead.
 */

function settle(
  { header: stored, row }: LockSnapshot & { readonly header: LockHeader },
  request: ExtendRequest,
  reading: StoreReading,
): LockStep<ExtendAnswer> {
  const { timeMs } = reading;
  const moved = observeServer(stored, request, reading);
  const backMs = nowOf(moved) - timeMs;
  const forgottenTo = greatest(moved.forgottenTo, firstTokenAt(nowOf(moved)));
  const provenAtMs = Math.max(0, moved.provenAtMs - backMs);
  const back = { ...moved, lastTimeMs: timeMs, slewMs: 0, provenAtMs, readyAtMs: 0, forgottenTo };
  const header = backMs > 0 ? recordLoss(back, reading) : moved;
  const nowMs = nowOf(header);
  const answer = { status: 'lost', nowMs, timeMs } as const;
  if (row?.token !== request.token) return { answer, header };
  const untilMs = Math.min(row.untilMs, nowMs + Math.max(request.ttlMs, header.longestMs));
  return { answer, header, row: { ...row, untilMs } };
}

/*
 * Releases a lock for its holder, at once or at the end of its reserved time.
 *
 * Guarantee: a lock that another caller now holds stays unchanged.
 */

/** @returns whether this holder had the lock */
export function releaseLock(
  { header: stored, row }: LockSnapshot,
  request: ReleaseRequest,
  reading: StoreReading,
): LockStep<boolean> {
  if (stored === undefined || row === undefined) return { answer: false };
  const { holder, token, keepMs = 0 } = request;
  const header = observeServer(stored, request, reading);
  const isHeld = row.holder === holder && row.token === (token ?? row.token);
  if (!isHeld) return { answer: false, header };
  const untilMs = nowOf(header) + keepMs;
  return { answer: true, header, row: { ...row, holder: '', untilMs } };
}

/*
 * Begins every operation on a lock: advances the clock and detects a loss of data.
 *
 * Guarantee: only an operator's order sets the clock back. After a loss, no lock is granted until
 * every lost lock has ended, and every lock that an older server may still grant.
 */

/** The precision with which a surviving process can tell how far ahead a lost store was. */
const AHEAD_STEP_MS = 1000;

/** The header of a store that starts with its process, so it has no earlier data to lose. */
export function newHeader(longestMs: number, { timeMs, server, random }: StoreReading): LockHeader {
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

function observeServer(stored: LockHeader, { clocks }: Seen, reading: StoreReading): LockHeader {
  const { timeMs, server, isPutBack, clock = slewed } = reading;
  const moved = { ...stored, ...clock(stored, timeMs) };
  const isSame = moved.server === server && isPutBack !== true;
  if (!isSame) return recordLoss({ ...moved, server }, reading);
  const aheadMs = nowOf(moved) - witnessedMs(stored, nowOf(moved), clocks);
  return aheadMs > STEP_MS ? { ...moved, slewMs: moved.slewMs - aheadMs } : moved;
}

/**
 * Returns the caller's time: the last response plus the time since or, before the first response,
 * its wall clock. It limits only a clock step beyond any lock, in a store that was in use until
 * now. The clock follows no further, and later callers continue from there.
 */
function witnessedMs(stored: LockHeader, nowMs: number, clocks?: CallerClocks): number {
  const { longestMs } = stored;
  const lastMs = nowOf(stored);
  const { wallMs = Infinity } = clocks ?? {};
  const isFar = nowMs - lastMs > longestMs + STEP_MS;
  const fits = isFar && wallMs >= lastMs - STEP_MS && wallMs <= lastMs + longestMs;
  return Math.max(lastMs, clocks?.nowMs ?? (fits ? wallMs : nowMs));
}

/** Acknowledged writes may be lost; every lock in them has ended by the time computed here. */
function recordLoss(header: LockHeader, { lossWindowMs }: StoreReading): LockHeader {
  const nowMs = nowOf(header);
  const readyAtMs = Math.max(header.readyAtMs, nowMs + header.longestMs + lossWindowMs);
  const forgottenTo = greatest(header.forgottenTo, firstTokenAt(nowMs));
  return { ...header, era: header.era + 1, readyAtMs, forgottenTo };
}

/** A caller with a higher token than the stored one proves that the store has lost data. */
function observeToken(
  header: LockHeader,
  row: LockRow | undefined,
  { have, reading }: { readonly have: bigint; readonly reading: StoreReading },
): LockHeader {
  const isMissing = row === undefined ? timeOf(have) + KEPT_MS > nowOf(header) : have > row.token;
  if (!isMissing || have <= header.forgottenTo) return header;
  const forgottenTo = greatest(header.forgottenTo, have);
  return recordLoss({ ...header, forgottenTo }, reading);
}

/**
 * A token of a time far in the future comes from a lost store whose clock was ahead of this one's.
 * Everything granted since then is lost too.
 */
function observeTime(stored: LockHeader, seen: Seen, reading: StoreReading): LockHeader {
  const header = observeServer(stored, seen, reading);
  // Tokens stay above those from before a clock reset.
  const latestMs = Math.max(nowOf(header), timeOf(header.forgottenTo)) + HEADER_AGE_MS;
  if (timeOf(seen.highest ?? 0n) <= latestMs) return header;
  const moved = moveClock(header, seen);
  return moved === header ? header : recordLoss(moved, reading);
}

/**
 * The clock moves in whole steps, so a fleet of surviving processes moves it only once. A step of a
 * day is an error and never happens.
 */
function moveClock(header: LockHeader, { highest = 0n, clocks }: Seen): LockHeader {
  const aheadMs = Math.max(timeOf(highest), clocks?.nowMs ?? 0) - nowOf(header);
  if (aheadMs <= 0 || aheadMs >= SANE_MS) return header;
  const stepMs = Math.ceil(aheadMs / AHEAD_STEP_MS) * AHEAD_STEP_MS;
  return { ...header, slewMs: header.slewMs + stepMs };
}

/**
 * A caller with a higher loss count than the store has used a server that replaced this one, and
 * locks granted there may still be held.
 */
function observeEra(header: LockHeader, era = 0, reading: StoreReading): LockHeader {
  return era > header.era ? recordLoss({ ...header, era }, reading) : header;
}

function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/**
 * A longer ttl is recorded before it is granted: after a loss of both, the store would wait only
 * for the shorter one. Locks from before the last loss may end later than was known then.
 */
function raiseLongest(header: LockHeader, longestMs: number, reading: StoreReading): LockHeader {
  const longerMs = longestMs - header.longestMs;
  if (longerMs <= 0) return header;
  const nowMs = nowOf(header);
  const isWaiting = header.readyAtMs > nowMs;
  return {
    ...header,
    longestMs,
    provenMs: provenMsOf(header),
    provenAtMs: nowMs + reading.lossWindowMs,
    readyAtMs: header.readyAtMs + (isWaiting ? longerMs : 0),
  };
}

/** The longest ttl whose record is safe from any loss. */
function provenMsOf(header: LockHeader): number {
  return nowOf(header) >= header.provenAtMs ? header.longestMs : header.provenMs;
}

/** How long the store grants no lock with this ttl. */
function waitMsOf(header: LockHeader, ttlMs: number): number {
  const isProven = ttlMs <= provenMsOf(header);
  const atMs = isProven ? header.readyAtMs : Math.max(header.readyAtMs, header.provenAtMs);
  return Math.max(0, atMs - nowOf(header));
}
