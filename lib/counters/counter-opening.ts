/**
 * The beginning of every operation on a counter: the clock moves on, a loss of data is noticed, and
 * the counter makes good for what has happened since it was written.
 *
 * Promise: the clock never goes back; after a loss a counter jumps over all that may have been
 * granted and forgotten, and grants nothing until the jump itself can no longer be lost.
 */
import { nowOf, slewed } from '../registry/registry-clock.js';
import type { CounterHeader, CounterReading, CounterRow } from './counter-slice.js';
import type { TakeRequest } from './counter-store.js';

export function opened(stored: CounterHeader | undefined, reading: CounterReading): CounterHeader {
  const { timeMs, server, isPutBack, isLeft, random, clock = slewed } = reading;
  if (stored === undefined) {
    return { incarnation: random, server, lastTimeMs: timeMs, slewMs: 0, era: 1 };
  }
  const moved = { ...stored, ...clock(stored, timeMs) };
  // Its jump from here was that of the other one, too.
  if (isLeft) return afterLoss(afterLoss(moved));
  const isSame = moved.server === server && isPutBack !== true;
  return isSame ? moved : afterLoss({ ...moved, server });
}

/** Acknowledged writes may be gone: each counter jumps before it grants again. */
export function afterLoss(header: CounterHeader): CounterHeader {
  return { ...header, era: header.era + 1 };
}

/** Whoever was answered more than the store remembers proves that it has forgotten. */
export function heard(
  header: CounterHeader,
  row: CounterRow,
  { have, era = 0 }: Pick<TakeRequest, 'have' | 'era'>,
): CounterHeader {
  // Whoever knows of more losses was answered by a server that took over from this one.
  if (era > header.era) return afterLoss({ ...header, era });
  return have > row.next ? afterLoss(header) : header;
}

export interface Settling {
  readonly have: bigint;
  /** As asked for now. */
  readonly margin: bigint;
  readonly lossWindowMs: number;
  /** Where a counter goes on after so many losses. */
  readonly jump: (next: bigint, margin: bigint, lossCount: number) => bigint;
}

/**
 * The counter as it stands before it grants. A larger margin is recorded before it is used: a loss
 * that took it with it would be answered by a jump of the smaller one.
 */
export function settled(header: CounterHeader, row: CounterRow, asked: Settling): CounterRow {
  const isBehind = row.era !== header.era;
  const isRaised = asked.margin > row.margin;
  if (!isBehind && !isRaised) return row;
  const margin = isRaised ? asked.margin : row.margin;
  const readyAtMs = nowOf(header) + asked.lossWindowMs;
  if (!isBehind) return { ...row, margin, readyAtMs };
  const known = asked.have > row.next ? asked.have : row.next;
  const next = asked.jump(known, margin, header.era - row.era);
  return { ...row, next, era: header.era, margin, readyAtMs, grant: '' };
}
