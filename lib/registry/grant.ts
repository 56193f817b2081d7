/**
 * The step that grants a range, and what is said of it.
 *
 * Promise: the answer says what the slot is written with, and nothing else.
 */
import type { LeaseAnswer, LeaseGrant } from '../lease/distributed-support.js';
import { nowOf } from './registry-clock.js';
import type { HeldSlot, RegistryHeader, Step, StoreReading } from './slice.js';

export function granted(header: RegistryHeader, slot: HeldSlot): Step {
  const { incarnation, server, operations, era, quarantineMs } = header;
  const { workerId, ceilingMs, holder } = slot;
  const mark = { incarnation, server, operations, era };
  const range = { workerId, floorMs: holder.floorMs, ceilingMs, nowMs: nowOf(header) };
  const answer: LeaseGrant = { status: 'ok', ...range, mark, quarantineMs };
  return { answer, header, slots: [slot] };
}

/** A grant tells the store's own clock too, which the registry does not follow everywhere. */
export function timed(step: Step, { timeMs }: StoreReading): Step {
  const { answer } = step;
  return answer.status === 'ok' ? { ...step, answer: { ...answer, timeMs } } : step;
}

/** The store may have told it before whoever is answered asked, who would misjudge its clock. */
export function withoutTime(answer: LeaseAnswer): LeaseAnswer {
  if (answer.status !== 'ok') return answer;
  const { nowMs: _, timeMs: __, ...grant } = answer;
  return grant;
}
