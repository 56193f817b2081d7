/**
 * A limit on how long a command waits for a store.
 *
 * Promise: no timer is left behind, and an answer that comes too late is dropped in silence.
 */
import { SnowflakeError } from '../../errors.js';
import { pause, systemTimers } from '../../patience/timers.js';

/** The store, for messages. */
export interface AskedPlace {
  readonly where: string;
  /** What the connection said last, where it said anything. */
  lastFault(): Error | undefined;
}

/** @throws SnowflakeError STORE_UNAVAILABLE */
export async function within<T>(ms: number, asked: Promise<T>, place: AskedPlace): Promise<T> {
  const answered = new AbortController();
  const timeout = pause(systemTimers, ms, answered.signal).then(() => {
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `The store at ${place.where} did not answer within ${ms} ms${heard(place.lastFault())}. ` +
        `Check that it is up and reachable from this host, or allow more by --timeout.`,
    );
  });
  try {
    return await Promise.race([asked, timeout]);
  } finally {
    answered.abort();
  }
}

function heard(fault: Error | undefined): string {
  return fault === undefined
    ? ''
    : `; the last that was heard: ${fault.message.replace(/\.$/, '')}`;
}
