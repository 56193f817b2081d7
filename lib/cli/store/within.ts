/**
 * A limit on how long a command waits for a store.
 *
 * Promise: no timer is left behind, and an answer that comes too late is dropped in silence.
 */
import { SnowflakeError } from '../../errors.js';
import { pause, systemTimers } from '../../lease/timers.js';

/** @throws SnowflakeError STORE_UNAVAILABLE */
export async function within<T>(ms: number, asked: Promise<T>, where: string): Promise<T> {
  const answered = new AbortController();
  const timeout = pause(systemTimers, ms, answered.signal).then(() => {
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `The store at ${where} did not answer within ${ms} ms. Check that it is up and reachable ` +
        `from this host, or allow more by --timeout.`,
    );
  });
  try {
    return await Promise.race([asked, timeout]);
  } finally {
    answered.abort();
  }
}
