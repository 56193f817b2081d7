/**
 * Calls the support with a time limit, because the promise of a client may never settle.
 *
 * Guarantee: every failure is a SnowflakeError, whatever a support throws or returns. A response
 * after the time limit is not lost but passed on, because a ceiling is absolute and may be applied
 * late.
 */
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { plainCause, format } from '../messages.js';
import { withinLimit, type Limit } from '../time/timers.js';
import type { LeaseAnswer } from './distributed-support.js';

/**
 * Returns a support's response. @throws SnowflakeError for any error of the support or a timeout
 *
 * @param terms the time limit, the handling of a late response, and the text that follows "The
 * store did not answer within ... ms"
 */
export async function answerWithin<T>(
  ask: () => Promise<T> | T,
  { consequence, ...limit }: Omit<Limit<T>, 'over'> & { readonly consequence: string },
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
    // The async function converts a synchronous error or a plain value to a promise.
    return await withinLimit((async () => ask())(), { ...limit, over });
  } catch (error) {
    if (isSnowflakeError(error)) throw error;
    // A custom support may pass on its client's error, including passwords.
    const cause = plainCause(error);
    const message = `The support failed: ${cause.message}`;
    throw new SnowflakeError('STORE_UNAVAILABLE', message, { cause });
  }
}

/*
 * The validation of a response.
 *
 * Guarantee: no range is placed and no wait starts because of a malformed value. A worker ID that
 * does not fit its bits would generate another holder's IDs, and NaN passes every comparison.
 */

/** The requested worker IDs, both inclusive. */
export interface AskedFor {
  readonly min: number;
  readonly max: number;
  /** In a renewal, the end of the current range. */
  readonly haveMs?: number;
}

type Fields = { readonly [name: string]: unknown };

const isTime = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);
const isText = (value: unknown): boolean => typeof value === 'string';

/** Returns the violations as text, if any. The caller refuses an unknown status. */
function faultsOf(answer: Fields, { min, max, haveMs = Infinity }: AskedFor): string[] {
  const { status } = answer;
  const faults: string[] = [];
  const check = (name: string, isValid: (value: unknown) => boolean, wanted = '') => {
    const value = answer[name];
    if (!isValid(value)) faults.push(`\`${name}\` is ${format(value)}${wanted}`);
  };
  const checkIfGiven: typeof check = (name, isValid) => {
    if (answer[name] !== undefined) check(name, isValid);
  };
  check('status', isText);
  if (faults.length > 0) return faults;
  if (status === 'ok') {
    const isWorkerId = (value: unknown) =>
      Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
    check('workerId', isWorkerId, `, not an integer from ${min} to ${max}`);
    check('floorMs', isTime);
    check('ceilingMs', isTime);
    // Without a claim, another generator may hold the number permanently.
    const isEndless = answer['ceilingMs'] === Infinity && haveMs < Infinity;
    if (isEndless) faults.push('`ceilingMs` is Infinity, and the lease had an end');
  }
  if (status === 'wait' || status === 'hold' || status === 'none-free') {
    check('waitMs', (value) => isTime(value) && Number(value) >= 0);
  }
  if (status === 'fenced') checkIfGiven('floorMs', isTime);
  // The next registry receives these.
  checkIfGiven('nowMs', isTime);
  checkIfGiven('timeMs', isTime);
  checkIfGiven('layouts', isText);
  checkIfGiven('mark', isMark);
  return faults;
}

function isMark(mark: unknown): boolean {
  const { incarnation, server, operations, era = 0 } = (mark ?? {}) as Fields;
  return isText(incarnation) && isText(server) && isTime(operations) && isTime(era);
}

/**
 * @throws SnowflakeError STORE_UNAVAILABLE, since a proxy or a service may send invalid responses
 * for a while.
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
