/**
 * Calls the support with a time limit, because the promise of a client may never settle.
 *
 * Guarantee: every failure is a SnowflakeError, whatever a support throws or returns. An answer
 * after the time limit is not lost but passed on: a ceiling is absolute and may be applied late.
 */
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { plainCause, format } from '../messages.js';
import { withinLimit, type Limit } from '../time/timers.js';
import type { LeaseAnswer } from './distributed-support.js';

/** The timeout of a call, and the handling of a late answer. */
interface CallTerms<T> extends Pick<Limit<T>, 'ms' | 'timers' | 'late'> {
  /** This text follows "The store did not answer within ... ms". */
  readonly consequence: string;
}

/** The answer of a support. @throws SnowflakeError in place of whatever it throws, or of silence */
export async function answerWithin<T>(
  ask: () => Promise<T> | T,
  { consequence, ...limit }: CallTerms<T>,
): Promise<T> {
  const over = () => {
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `The store did not answer within ${limit.ms} ms. ${consequence} Check that the store is up ` +
        `and reachable from this host, and that its URL names the right kind of server and port.`,
      { details: { timeoutMs: limit.ms } },
    );
  };
  try {
    // The async function turns an error thrown at once, or a plain value, into a promise.
    return await withinLimit((async () => ask())(), { ...limit, over });
  } catch (fault) {
    throw asSnowflakeError(fault);
  }
}

function asSnowflakeError(error: unknown): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  // A support by another author may pass on the error of its client, passwords included.
  const cause = plainCause(error);
  return new SnowflakeError('STORE_UNAVAILABLE', `The support failed: ${cause.message}`, { cause });
}

/*
 * The check of an answer.
 *
 * Guarantee: no range is placed and no wait starts because of a malformed value. A worker ID that
 * does not fit its bits would make the IDs of another holder, and NaN passes every comparison.
 */

/** The requested worker IDs, both inclusive. */
export interface AskedFor {
  readonly min: number;
  readonly max: number;
  /** At a renewal this is the end of the current range. */
  readonly haveMs?: number;
}

type Fields = { readonly [name: string]: unknown };

/** A number of milliseconds that can be waited for. */
const isWait = (value: unknown): boolean => typeof value === 'number' && value >= 0;
const isTime = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);
const isText = (value: unknown): boolean => typeof value === 'string';
const isMaybe = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isValid(value);

/** The violations as text; empty for a valid answer. The caller refuses an unknown status. */
function faultsOf(answer: Fields, { min, max, haveMs = Infinity }: AskedFor): string[] {
  const { status } = answer;
  const faults: string[] = [];
  const check = (name: string, isValid: (value: unknown) => boolean, wanted = '') => {
    const value = answer[name];
    if (!isValid(value)) faults.push(`\`${name}\` is ${format(value)}${wanted}`);
  };
  const isWorkerId = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  check('status', isText);
  if (faults.length > 0) return faults;
  if (status === 'ok') {
    check('workerId', isWorkerId, `, not an integer from ${min} to ${max}`);
    check('floorMs', isTime);
    check('ceilingMs', isTime);
    // Without a claim, another generator may have the number for good.
    const isEndless = answer['ceilingMs'] === Infinity && haveMs < Infinity;
    if (isEndless) faults.push('`ceilingMs` is Infinity, and the lease had an end');
  }
  if (status === 'wait' || status === 'hold' || status === 'none-free') check('waitMs', isWait);
  if (status === 'fenced') check('floorMs', isMaybe(isTime));
  // The next registry receives these.
  check('nowMs', isMaybe(isTime));
  check('timeMs', isMaybe(isTime));
  check('layouts', isMaybe(isText));
  check('mark', isMaybe(isMark));
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
  const faults = isObject ? faultsOf({ ...answer }, askedFor) : [`it is ${format(answer)}`];
  if (faults.length === 0) return answer;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The support gave an invalid answer: ${faults.join(', ')}. Nothing of it was used, and the ` +
      `call will be repeated. Fix the support.`,
  );
}
