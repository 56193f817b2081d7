/**
 * Leases the worker id that has been free for longest; the same token gets its lease again.
 *
 * Promise: a range starts where the last one of its worker id ended, or later, and ends no further
 * ahead of the registry's clock than one ttl.
 */
import type { LeaseRequest } from '../lease/distributed-support.js';
import { heardOf } from './branch.js';
import { granted, timed } from './grant.js';
import { claimed, isLive } from './layout-claim.js';
import { open } from './opening.js';
import { nowOf } from './registry-clock.js';
import type {
  AcquireSlice,
  HeldSlot,
  RegistryHeader,
  Step,
  StoreReading,
  WorkerSlot,
} from './slice.js';

export function acquire(slice: AcquireSlice, request: LeaseRequest, reading: StoreReading): Step {
  return timed(acquired(slice, request, reading), reading);
}

function acquired(slice: AcquireSlice, request: LeaseRequest, reading: StoreReading): Step {
  const opening = open(slice.header, request, reading);
  if (opening.refused !== undefined) return opening.refused;
  const { fingerprint, haveMs, seen } = request;
  const hasRange = isLive(haveMs, nowOf(opening.header));
  const mine = hasRange ? claimed(opening.header, fingerprint) : opening.header;
  const header = heardOf(mine, seen, request.reckoned);
  const { held, lowest } = slice;
  if (held === undefined) return newLease(header, lowest, request);
  if (held.holder.era === header.era) return sameLease(header, held, request);
  const step = newLease(header, lowest, request);
  if (step.slots.some(({ workerId }) => workerId === held.workerId)) return step;
  // A range never runs across an era, so the token lets go of what it held in an earlier one.
  return { ...step, slots: [{ ...held, holder: undefined }, ...step.slots] };
}

/** An answer may have been lost: the lease that was granted, as long as one granted now. */
function sameLease(header: RegistryHeader, held: HeldSlot, request: LeaseRequest): Step {
  const ceilingMs = Math.max(held.ceilingMs, nowOf(header) + request.ttlMs);
  return granted(header, { ...held, ceilingMs });
}

function newLease(header: RegistryHeader, lowest: WorkerSlot, request: LeaseRequest): Step {
  const { workerId, ceilingMs: lastMs } = lowest;
  const nowMs = nowOf(header);
  if (lastMs > nowMs && !isClaim(request)) {
    return { answer: { status: 'none-free', waitMs: lastMs - nowMs }, header, slots: [] };
  }
  const floorMs = Math.max(lastMs, header.safeFloorMs);
  // Never max(now, floor) + ttl: a ceiling further ahead could outlive its quarantine.
  const ceilingMs = nowMs + request.ttlMs;
  const waitMs = floorMs + request.minRangeMs - ceilingMs;
  if (waitMs > 0) return { answer: { status: 'wait', waitMs }, header, slots: [] };
  const { token, nonce, holder: label, fingerprint } = request;
  const holder = { token, nonce, floorMs, era: header.era, sinceMs: nowMs, label };
  // Only now: a newcomer who has to wait may be refused yet, for a holder who was here before.
  return granted(claimed(header, fingerprint), { workerId, ceilingMs, holder });
}

/** Of a worker id that may be held: its holder keeps the range that ends where this one starts. */
function isClaim({ takesOver = false, workerIdMin, workerIdMax }: LeaseRequest): boolean {
  return takesOver && workerIdMin === workerIdMax;
}
