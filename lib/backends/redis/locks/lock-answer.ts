/**
 * The one place where the flat arrays of the scripts on locks become answers.
 *
 * Promise: no other file of this backend knows in which order a script answers.
 */
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
} from '../../../lock/lock-store.js';
import type { NamedLock } from '../../../lock/lock-view.js';
import { numberIn } from '../../../registry/stored-fields.js';

export function acquireAnswer(reply: readonly unknown[], ttlMs: number): AcquireAnswer {
  const [status, first, second, third] = reply.map(String);
  if (status === 'held') {
    return { status, label: first!, leftMs: Number(second), token: BigInt(third!) };
  }
  if (status === 'wait') return { status, waitMs: Number(first) };
  return { status: 'ok', token: BigInt(first!), ttlMs, era: Number(second) };
}

export function extendAnswer(reply: readonly unknown[], ttlMs: number): ExtendAnswer {
  const [status, token, era] = reply.map(String);
  if (status === 'lost') return { status };
  return { status: 'ok', token: BigInt(token!), ttlMs, era: Number(era) };
}

type Arguments = readonly (string | number | bigint)[];

/**
 * What acquire.lua is asked, after what every script is asked.
 *
 * @param lookedAt how many other locks are looked at, to be forgotten
 */
export function acquireArguments(request: AcquireRequest, lookedAt: number): Arguments {
  const { holder, label, ttlMs, longestMs, have, era = 0 } = request;
  return [holder, label, ttlMs, longestMs, have, era, lookedAt, ...highestOf(request)];
}

function highestOf({ highest }: Pick<AcquireRequest, 'highest'>): Arguments {
  return [highest?.token ?? 0, highest?.ageMs ?? 0];
}

/** What extend.lua is asked, after what every script is asked. */
export function extendArguments(request: ExtendRequest): Arguments {
  const { holder, token, ttlMs, era = 0 } = request;
  return [holder, token, ttlMs, era, ...highestOf(request)];
}

const FIELDS = 2;
const LINE = /^(\d+)\|(\d{1,16})\|(\d{1,16})\|(\d{1,16})\|([^|]*)\|(.*)$/s;

/** A lock whose line cannot be read is left out: nobody is granted it either. */
export function lockPage(reply: readonly unknown[]) {
  const [time, cursor = '0', lastTime, slew, ...rest] = reply.map(String);
  const locks: NamedLock[] = [];
  for (let at = 0; at < rest.length; at += FIELDS) {
    const [, digits, era, since, until, holder = '', label = ''] = LINE.exec(rest[at + 1]!) ?? [];
    const token = numberIn(digits);
    if (token === undefined) continue;
    const moment = { sinceMs: Number(since), untilMs: Number(until) };
    const row = { token, era: Number(era), holder, label, ...moment };
    locks.push({ lock: rest[at]!, row });
  }
  const last = { lastTimeMs: Number(lastTime), slewMs: Number(slew) };
  return { timeMs: Number(time), cursor, last, locks };
}
