/**
 * Checks that what a support answered is an answer at all.
 *
 * Promise: no range is seated and no wait starts because of a malformed value. A worker id that
 * does not fit its bits would make the ids of another holder, and NaN passes every comparison.
 */
import { SnowflakeError } from '../errors.js';
import { shown } from '../shown.js';
import type { LeaseAnswer } from './distributed-support.js';

/** The worker ids that were asked for, both inclusive. */
interface AskedFor {
  readonly min: number;
  readonly max: number;
  /** At a renewal: where the range held ends. */
  readonly haveMs?: number;
}

type Fields = { readonly [name: string]: unknown };

/** A number of milliseconds that can be waited for. */
const isWait = (value: unknown): boolean => typeof value === 'number' && value >= 0;
const isTime = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);
const isText = (value: unknown): boolean => typeof value === 'string';

/**
 * The faults in words; empty for an answer of the contract. A status that is not known is left to
 * the caller, who refuses it by name.
 */
function faultsOf(answer: Fields, { min, max, haveMs = Infinity }: AskedFor): string[] {
  const { status, workerId, floorMs, ceilingMs, nowMs = 0, waitMs, mark } = answer;
  if (status === 'wait' || status === 'hold' || status === 'none-free') {
    return isWait(waitMs) ? [] : [`\`waitMs\` is ${shown(waitMs)}`];
  }
  if (status === 'fenced' && floorMs !== undefined && !isTime(floorMs)) {
    return [`\`floorMs\` is ${shown(floorMs)}`];
  }
  if (status !== 'ok') return isText(status) ? [] : [`\`status\` is ${shown(status)}`];
  const faults: string[] = [];
  if (!Number.isInteger(workerId) || Number(workerId) < min || Number(workerId) > max) {
    faults.push(`\`workerId\` is ${shown(workerId)}, not an integer from ${min} to ${max}`);
  }
  for (const [name, value] of Object.entries({ floorMs, ceilingMs, nowMs })) {
    if (!isTime(value)) faults.push(`\`${name}\` is ${shown(value)}`);
  }
  // Nobody looked whether another generator has the number for good.
  if (ceilingMs === Infinity && haveMs < Infinity) {
    faults.push('`ceilingMs` is Infinity, and the lease had an end');
  }
  if (mark !== undefined && !isMark(mark)) faults.push(`\`mark\` is ${shown(mark)}`);
  return faults;
}

function isMark(mark: unknown): boolean {
  const { incarnation, server, operations, era = 0 } = (mark ?? {}) as Fields;
  return isText(incarnation) && isText(server) && isTime(operations) && isTime(era);
}

/**
 * @throws SnowflakeError STORE_UNAVAILABLE, since a proxy or a service may answer nonsense for a
 * while.
 */
export function checkedAnswer(answer: LeaseAnswer, askedFor: AskedFor): LeaseAnswer {
  const isObject = typeof answer === 'object' && answer !== null;
  const faults = isObject ? faultsOf({ ...answer }, askedFor) : [`it is ${shown(answer)}`];
  if (faults.length === 0) return answer;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The support gave an invalid answer: ${faults.join(', ')}. Nothing of it was used, and the ` +
      `call will be repeated. Fix the support.`,
  );
}
