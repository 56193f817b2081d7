/**
 * The one place where the flat arrays of the scripts become answers.
 *
 * Promise: no other file of this backend knows in which order a script answers.
 */
import type { LeaseAnswer } from '../../../lease/distributed-support.js';
import { shownName } from '../../../shown.js';

export function leaseAnswer(reply: readonly unknown[]): LeaseAnswer {
  const [status, first, ...rest] = reply as [LeaseAnswer['status'], ...unknown[]];
  switch (status) {
    case 'ok': {
      const [floorMs, ceilingMs, nowMs, incarnation, server, operations, ...clock] = rest;
      const [quarantineMs, timeMs, era] = clock;
      return {
        status,
        workerId: Number(first),
        floorMs: Number(floorMs),
        ceilingMs: Number(ceilingMs),
        nowMs: Number(nowMs),
        timeMs: Number(timeMs),
        mark: {
          incarnation: String(incarnation),
          server: String(server),
          operations: Number(operations),
          era: Number(era),
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
    case 'cloned':
      return { status, ...(first === 'left' && { isOverlap: true }) };
    case 'layout-mismatch':
      return { status, fingerprint: shownName(first) };
    case 'other-version':
      return { status, version: shownName(first) };
    default:
      return { status };
  }
}
