/**
 * Calls to the support with a time limit of their own: a client's promise may never settle.
 *
 * Promise: every failure is a SnowflakeError; an answer that comes after the time limit is not
 * lost but handed on, because a ceiling is absolute and may be applied late.
 */
import { SnowflakeError, isSnowflakeError, plainCause } from '../errors.js';
import type { Timers } from './timers.js';

export class SupportCaller {
  constructor(
    private readonly timers: Timers,
    private readonly timeoutMs: number,
  ) {}

  async call<T>(ask: () => Promise<T>, late: (answer: T) => void, timeoutMs = this.timeoutMs) {
    let isLate = false;
    let timer: unknown;
    const timeout = new Promise<never>((_, reject) => {
      timer = this.timers.after(timeoutMs, () => {
        isLate = true;
        reject(timedOut(timeoutMs));
      });
    });
    const asked = ask();
    asked.then(
      (answer) => isLate && late(answer),
      () => undefined,
    );
    try {
      return await Promise.race([asked, timeout]);
    } catch (error) {
      throw asSnowflakeError(error);
    } finally {
      this.timers.cancel(timer);
    }
  }
}

function timedOut(timeoutMs: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store did not answer within ${timeoutMs} ms. The range already leased lasts; the ` +
      `call is ` +
      `repeated. Check that the store is up and reachable from this host.`,
    { details: { timeoutMs } },
  );
}

function asSnowflakeError(error: unknown): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  // A support of another maker may hand on the error of its client, passwords and all.
  const cause = plainCause(error);
  return new SnowflakeError('STORE_UNAVAILABLE', `The support failed: ${cause.message}`, { cause });
}
