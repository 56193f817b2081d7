/**
 * The one place where the flat arrays of the scripts become answers and records.
 *
 * Promise: no other file of this backend knows in which order a script answers.
 */
import type { LeaseAnswer, WorkerRecord } from '../../lease/distributed-support.js';
import { shownName } from '../../lease/printable.js';
import { holderIn } from './holder-text.js';

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
    case 'fenced':
      return { status, floorMs: Number(first) };
    case 'layout-mismatch':
      return { status, fingerprint: shownName(first) };
    case 'other-version':
      return { status, version: shownName(first) };
    default:
      return { status };
  }
}

export function workerRecords(reply: readonly unknown[]): WorkerRecord[] {
  const [timeMs, ...pairs] = reply;
  const fields = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2) fields.set(String(pairs[at]), String(pairs[at + 1]));
  const nowMs = Number(timeMs) + timeIn(fields.get('slew'), 0);
  const workerIds = [...fields.keys()].filter((name) => CEILING.test(name));
  return workerIds
    .map((name) => Number(name.slice(1)))
    .toSorted((a, b) => a - b)
    .map((workerId) => {
      const ceilingMs = timeIn(fields.get(`c${workerId}`), LAST_DATE_MS);
      const freeInMs = Math.max(0, ceilingMs - nowMs);
      const holder = holderIn(fields.get(`o${workerId}`));
      return { workerId, ceilingMs, freeInMs, ...(holder && { holder }) };
    });
}

/** The field with the ceiling of a worker id, written in one way. */
const CEILING = /^c(0|[1-9]\d{0,14})$/;
/** The last moment of a Date. */
const LAST_DATE_MS = 8.64e15;

/** A time that somebody else may have written: one that cannot be read hides nobody. */
function timeIn(text: string | undefined, unreadable: number): number {
  const ms = text === undefined || text === '' ? NaN : Number(text);
  return Math.abs(ms) <= LAST_DATE_MS ? ms : unreadable;
}
