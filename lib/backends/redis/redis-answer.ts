/**
 * The one place where the flat arrays of the scripts become answers and records.
 *
 * Promise: no other file of this backend knows in which order a script answers.
 */
import type { HolderLabel, LeaseAnswer, WorkerRecord } from '../../lease/distributed-support.js';

export function leaseAnswer(reply: readonly unknown[]): LeaseAnswer {
  const [status, first, ...rest] = reply as [LeaseAnswer['status'], ...unknown[]];
  switch (status) {
    case 'ok': {
      const [floorMs, ceilingMs, nowMs, incarnation, server, operations, quarantineMs] = rest;
      return {
        status,
        workerId: Number(first),
        floorMs: Number(floorMs),
        ceilingMs: Number(ceilingMs),
        nowMs: Number(nowMs),
        mark: {
          incarnation: String(incarnation),
          server: String(server),
          operations: Number(operations),
        },
        quarantineMs: Number(quarantineMs),
      };
    }
    case 'none-free':
    case 'wait':
    case 'hold':
      return { status, waitMs: Number(first) };
    case 'layout-mismatch':
      return { status, fingerprint: String(first) };
    case 'other-version':
      return { status, version: String(first) };
    default:
      return { status };
  }
}

/** token|nonce|floor|era|since|label, the label as JSON. */
const OWNER = /^[^|]*\|[^|]*\|\d+\|\d+\|(\d+)\|(.*)$/;

export function workerRecords(reply: readonly unknown[]): WorkerRecord[] {
  const [timeMs, ...pairs] = reply;
  const fields = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2) fields.set(String(pairs[at]), String(pairs[at + 1]));
  const nowMs = Number(timeMs) + Number(fields.get('slew') ?? 0);
  const workerIds = [...fields.keys()].filter((name) => /^c\d+$/.test(name));
  return workerIds
    .map((name) => Number(name.slice(1)))
    .toSorted((a, b) => a - b)
    .map((workerId) => {
      const ceilingMs = Number(fields.get(`c${workerId}`));
      const owner = OWNER.exec(fields.get(`o${workerId}`) ?? '');
      const freeInMs = Math.max(0, ceilingMs - nowMs);
      if (owner === null) return { workerId, ceilingMs, freeInMs };
      const label = JSON.parse(owner[2]!) as HolderLabel;
      return { workerId, ceilingMs, freeInMs, holder: { ...label, sinceMs: Number(owner[1]) } };
    });
}
