/**
 * Calls the support with a time limit, because the promise of a client may never settle.
 *
 * Promise: every failure is a SnowflakeError, whatever a support throws or returns. An answer that
 * comes after the time limit is not lost but passed on: a ceiling is absolute and may be applied
 * late.
 */
import { SnowflakeError, isSnowflakeError } from '../errors.js';
import { plainCause } from '../shown.js';
import type { Timers } from '../patience/timers.js';
import { withinLimit } from '../patience/within-limit.js';

/** What is done with an answer that comes too late, and what a timeout means for the caller. */
export interface CallTerms<T> {
  readonly late?: (answer: T) => void | Promise<void>;
  /** Said after "The store did not answer within ... ms". */
  readonly consequence: string;
  /** Default: that of all calls. */
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
    // Also what throws at once, or returns no promise, comes out of this one.
    const asked = (async () => ask())();
    const handOn = async () => {
      const answer = await asked;
      if (isLate) await late?.(answer);
    };
    // An error is this call's; that of a late answer, or of taking it in, is nobody's any more.
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
  // A support of another maker may hand on the error of its client, passwords and all.
  const cause = plainCause(error);
  return new SnowflakeError('STORE_UNAVAILABLE', `The support failed: ${cause.message}`, { cause });
}
