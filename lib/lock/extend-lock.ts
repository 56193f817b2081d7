/**
 * Extends a lock for whoever holds it, and for nobody else.
 *
 * Promise: what has ended, by time, by a release or by a loss of data, is never held again.
 */
import { nowOf } from '../registry/registry-clock.js';
import { isHeldBy } from './acquire-lock.js';
import { heard, heardEra, heardHighest, opened } from './lock-opening.js';
import type { LockReading, LockSlice, LockStep } from './lock-slice.js';
import type { ExtendAnswer, ExtendRequest } from './lock-store.js';

export function extendLock(
  { header: stored, row }: LockSlice,
  { holder, token, ttlMs, era, highest }: ExtendRequest,
  reading: LockReading,
): LockStep<ExtendAnswer> {
  const lost = { status: 'lost' } as const;
  if (stored === undefined) return { answer: lost };
  const told = heardHighest(opened(stored, reading), highest, reading);
  const moved = heardEra(told, era, reading);
  // A lock that was held for long may have no row any more, which proves nothing.
  const header = row === undefined ? moved : heard(moved, row, { have: token, reading });
  const isHeld = row !== undefined && row.token === token && isHeldBy(row, header, { holder });
  if (!isHeld) return { answer: lost, header };
  const untilMs = Math.max(row.untilMs, nowOf(header) + ttlMs);
  const answer = { status: 'ok', token, ttlMs, era: header.era } as const;
  return { answer, header, row: { ...row, untilMs } };
}
