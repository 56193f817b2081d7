/**
 * Grants a lock that nobody holds, or grants it again to the same attempt.
 *
 * Promise: where two ask, one is granted and the other told who; after a loss of data nobody is,
 * until whoever may have been granted it before has ended.
 */
import { nowOf } from '../registry/registry-clock.js';
import {
  created,
  heard,
  heardEra,
  heardHighest,
  opened,
  raised,
  waitMsOf,
} from './lock-opening.js';
import type { LockHeader, LockReading, LockRow, LockSlice, LockStep } from './lock-slice.js';
import type { AcquireAnswer, AcquireRequest } from './lock-store.js';
import { nextToken } from './token.js';

export function acquireLock(
  slice: LockSlice,
  request: AcquireRequest,
  reading: LockReading,
): LockStep<AcquireAnswer> {
  const { row } = slice;
  const header = openedFor(slice, request, reading);
  const nowMs = nowOf(header);
  if (row !== undefined && isHeldBy(row, header, request)) {
    const untilMs = Math.max(row.untilMs, nowMs + request.ttlMs);
    return granted(header, { ...row, untilMs }, request);
  }
  const others = row !== undefined && row.untilMs > nowMs ? row : undefined;
  const waitMs = waitMsOf(header, request.ttlMs);
  // Whoever held it before the loss will be told that it is lost.
  if (waitMs > 0 && others?.era !== header.era) {
    return { answer: { status: 'wait', waitMs }, header };
  }
  if (others !== undefined) {
    const { label, untilMs, token } = others;
    return { answer: { status: 'held', label, leftMs: untilMs - nowMs, token }, header };
  }
  const { holder, label, ttlMs, have } = request;
  const token = nextToken(row?.token ?? 0n, have, nowMs);
  const moment = { sinceMs: nowMs, untilMs: nowMs + ttlMs };
  return granted(header, { token, era: header.era, holder, label, ...moment }, request);
}

function openedFor(
  { header, row }: LockSlice,
  { longestMs, have, era, highest }: AcquireRequest,
  reading: LockReading,
): LockHeader {
  if (header === undefined) return heardEra(created(longestMs, reading, highest), era, reading);
  const told = heardHighest(opened(header, reading), highest, reading);
  const moved = heardEra(told, era, reading);
  const known = heard(moved, row, { have, reading });
  return raised(known, longestMs, reading);
}

/** By this very attempt, and not by what a loss has left of it. */
export function isHeldBy(
  row: LockRow,
  header: LockHeader,
  { holder }: { readonly holder: string },
): boolean {
  return row.holder === holder && row.era === header.era && row.untilMs > nowOf(header);
}

function granted(
  header: LockHeader,
  row: LockRow,
  { ttlMs }: AcquireRequest,
): LockStep<AcquireAnswer> {
  return { answer: { status: 'ok', token: row.token, ttlMs, era: header.era }, header, row };
}
