/**
 * Locks as an operator sees them.
 *
 * Promise: nothing is changed by looking.
 */
import { nowAt, type ClockState, type LaterTime } from '../registry/registry-clock.js';
import type { LockRow } from './lock-slice.js';
import type { LockRecord } from './lock-store.js';

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
