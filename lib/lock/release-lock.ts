/**
 * Lets go of a lock, for whoever holds it; at once, or after the time for which it was to be kept
 * from others.
 *
 * Promise: what somebody else holds by now stays as it is.
 */
import { nowOf } from '../registry/registry-clock.js';
import { opened } from './lock-opening.js';
import type { LockReading, LockSlice, LockStep } from './lock-slice.js';
import type { ReleaseRequest } from './lock-store.js';

/** @returns whether it was held so */
export function releaseLock(
  { header: stored, row }: LockSlice,
  { holder, token, keepMs = 0 }: ReleaseRequest,
  reading: LockReading,
): LockStep<boolean> {
  if (stored === undefined || row === undefined) return { answer: false };
  const header = opened(stored, reading);
  const isHeld = row.holder === holder && row.token === (token ?? row.token);
  if (!isHeld) return { answer: false, header };
  const untilMs = nowOf(header) + keepMs;
  return { answer: true, header, row: { ...row, holder: '', untilMs } };
}
