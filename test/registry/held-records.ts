/** Worker IDs and their holders, as an operator sees them in a registry. */
import type { WorkerRecord } from '../../lib/lease/distributed-support.js';

export const NOW_MS = Date.UTC(2026, 10, 24);

/** A process that may use only these worker IDs. */
export function heldIn(workerId: number, workerIds?: string): WorkerRecord {
  const label = { host: `host-${workerId}`, pid: 10 + workerId, application: 'shop', workerIds };
  return { workerId, ceilingMs: NOW_MS, freeInMs: 10_000, holder: { ...label, sinceMs: 0 } };
}
