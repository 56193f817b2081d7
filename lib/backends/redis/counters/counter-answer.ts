/**
 * The one place where the flat arrays of the scripts on counters become answers.
 *
 * Promise: no other file of this backend knows in which order a script answers.
 */
import type { CounterRecord, TakeAnswer } from '../../../counters/counter-store.js';
import { nowAt } from '../../../registry/registry-clock.js';
import { numberIn } from '../../../registry/stored-fields.js';
import { shownName } from '../../../shown.js';

export function takeAnswer(reply: readonly unknown[], counter: string): TakeAnswer {
  const [status, first, end, grant, era] = reply.map(String);
  switch (status) {
    case 'ok':
      return {
        status,
        first: BigInt(first!),
        end: BigInt(end!),
        grant: `${grant}.${counter}`,
        era: Number(era),
      };
    case 'wait':
      return { status, waitMs: Number(first) };
    case 'mismatch':
      return { status, stored: shownName(first) };
    default:
      return { status: status as 'absent' | 'full' };
  }
}

const FIELDS = 3;

/** A counter whose line cannot be read is left out: nothing is granted of it either. */
export function counterPage(reply: readonly unknown[]) {
  const [time, cursor = '0', lastTime, slew, era, ...rest] = reply.map(String);
  const last = { lastTimeMs: Number(lastTime), slewMs: Number(slew) };
  const nowMs = nowAt(last, { timeMs: Number(time) });
  const records: CounterRecord[] = [];
  for (let at = 0; at < rest.length; at += FIELDS) {
    const [counter = '', next = '', line = ''] = rest.slice(at, at + FIELDS);
    const [form = '', , , readyAtMs = '0'] = line.split('|');
    const position = numberIn(next);
    if (position === undefined || line === '') continue;
    const waitMs = Math.max(0, Number(readyAtMs) - nowMs);
    records.push({ counter, form, next: position, era: Number(era), waitMs });
  }
  return { cursor, records };
}
