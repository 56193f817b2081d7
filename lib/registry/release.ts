/**
 * Gives a worker id back: the ceiling falls to the first time that was not used.
 *
 * Promise: only for the holder of token and nonce, and never below the floor of its range.
 */
import type { WorkerLease } from '../lease/distributed-support.js';
import { open } from './opening.js';
import type { Changes, RegistryHeader, StoreReading, WorkerSlice } from './slice.js';

export function release(
  { header: stored, slot }: WorkerSlice,
  lease: WorkerLease,
  lastIssuedMs: number | undefined,
  reading: StoreReading,
): Changes {
  // Whoever leaves makes no more ids, so that it claims and contests nothing.
  const opening = open(stored, { ...lease, haveMs: 0 }, reading);
  if (opening.refused !== undefined) return opening.refused;
  const { header: opened } = opening;
  const header = lease.settles === true ? settled(opened, reading) : opened;
  const { workerId, ceilingMs: lastMs, holder } = slot;
  const isHolder = holder !== undefined && holder.token === lease.token;
  const knowsNonce = holder?.nonce === lease.nonce || holder?.nonce === lease.nonceNext;
  if (!isHolder || !knowsNonce) return { header, slots: [] };
  const usedMs = lastIssuedMs === undefined ? 0 : lastIssuedMs + 1;
  const ceilingMs = Math.min(lastMs, Math.max(usedMs, holder.floorMs));
  return { header, slots: [{ workerId, ceilingMs }] };
}

/** No ceiling and no floor is touched: what was granted at the wrong time stays granted. */
function settled(header: RegistryHeader, { timeMs: lastTimeMs }: StoreReading): RegistryHeader {
  return { ...header, lastTimeMs, slewMs: 0 };
}
