/**
 * Calls the support with a time limit, because the promise of a client may never settle.
 *
 * Guarantee: every failure is a SnowflakeError, whatever a support throws or returns. An answer
 * after the time limit is not lost but passed on: a ceiling is absolute and may be applied late.
 */
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { plainCause, format } from '../messages.js';
import { withinLimit, type Timers } from '../time/timers.js';
import type { LeaseAnswer } from './distributed-support.js';

/** The treatment of a late answer, and the consequence of a timeout for the caller. */
interface CallTerms<T> {
  readonly late?: (answer: T) => void | Promise<void>;
  /** This text follows "The store did not answer within ... ms". */
  readonly consequence: string;
  /** Default: the limit of all calls. */
  readonly timeoutMs?: number;
}

export class SupportCaller {
  constructor(
    private readonly timers: Timers,
    private readonly timeoutMs: number,
  ) {}

  async call<T>(ask: () => Promise<T> | T, terms: CallTerms<T>): Promise<T> {
    const { late, consequence, timeoutMs = this.timeoutMs } = terms;
    let isLate = false;
    const over = () => {
      isLate = true;
      throw timedOut(timeoutMs, consequence);
    };
    // The async function turns an error thrown at once, or a plain value, into a promise.
    const asked = (async () => ask())();
    const handOn = async () => {
      const answer = await asked;
      if (isLate) await late?.(answer);
    };
    // An error belongs to this call. No caller waits any more for a late answer or an error in
    // applying it.
    handOn().catch(() => undefined);
    try {
      return await withinLimit(asked, { timers: this.timers, ms: timeoutMs, over });
    } catch (fault) {
      throw asSnowflakeError(fault);
    }
  }
}

function timedOut(timeoutMs: number, consequence: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store did not answer within ${timeoutMs} ms. ${consequence} Check that the store is up ` +
      `and reachable from this host, and that its URL names the right kind of server and port.`,
    { details: { timeoutMs } },
  );
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
 * Guarantee: no range is placed and no wait starts because of a malformed value. A worker id that
 * does not fit its bits would make the ids of another holder, and NaN passes every comparison.
 */

/** The requested worker ids, both inclusive. */
interface AskedFor {
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

/**
 * The faults in words; empty for an answer of the contract. The caller refuses an unknown status by
 * name.
 */
function faultsOf(answer: Fields, askedFor: AskedFor): string[] {
  const { status, waitMs, floorMs } = answer;
  if (!isText(status)) return [`\`status\` is ${format(status)}`];
  const faults = factFaults(answer);
  if (status === 'ok') return [...rangeFaults(answer, askedFor), ...faults];
  if (status === 'wait' || status === 'hold' || status === 'none-free') {
    return isWait(waitMs) ? faults : [`\`waitMs\` is ${format(waitMs)}`, ...faults];
  }
  const isFloorless = status !== 'fenced' || floorMs === undefined || isTime(floorMs);
  return isFloorless ? faults : [`\`floorMs\` is ${format(floorMs)}`, ...faults];
}

function rangeFaults(answer: Fields, { min, max, haveMs = Infinity }: AskedFor): string[] {
  const { workerId, floorMs, ceilingMs } = answer;
  const faults: string[] = [];
  if (!Number.isInteger(workerId) || Number(workerId) < min || Number(workerId) > max) {
    faults.push(`\`workerId\` is ${format(workerId)}, not an integer from ${min} to ${max}`);
  }
  for (const [name, value] of Object.entries({ floorMs, ceilingMs })) {
    if (!isTime(value)) faults.push(`\`${name}\` is ${format(value)}`);
  }
  // Without a claim, another generator may have the number for good.
  if (ceilingMs === Infinity && haveMs < Infinity) {
    faults.push('`ceilingMs` is Infinity, and the lease had an end');
  }
  return faults;
}

/** Of what the process brings to the next registry. */
function factFaults({ nowMs = 0, timeMs = 0, mark, layouts }: Fields): string[] {
  const times = Object.entries({ nowMs, timeMs }).filter(([, value]) => !isTime(value));
  return [
    ...times.map(([name, value]) => `\`${name}\` is ${format(value)}`),
    ...(layouts === undefined || isText(layouts) ? [] : [`\`layouts\` is ${format(layouts)}`]),
    ...(mark === undefined || isMark(mark) ? [] : [`\`mark\` is ${format(mark)}`]),
  ];
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
