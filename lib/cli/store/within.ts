/**
 * A limit on how long a command waits for a store.
 *
 * Promise: no timer is left behind, and an answer that comes too late is dropped in silence.
 */
import { SnowflakeError } from '../../errors.js';
import { systemTimers } from '../../patience/timers.js';
import { withinLimit } from '../../patience/within-limit.js';

/** The store, for messages. */
export interface AskedPlace {
  readonly where: string;
  /** What the connection said last, where it said anything. */
  lastFault(): Error | undefined;
}

/** @throws SnowflakeError STORE_UNAVAILABLE */
export async function within<T>(ms: number, asked: Promise<T>, place: AskedPlace): Promise<T> {
  const over = () => {
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `The store at ${place.where} did not answer within ${ms} ms${heard(place.lastFault())}. ` +
        `Check that it is up and reachable from this host, or allow more by --timeout.`,
    );
  };
  return withinLimit(asked, { timers: systemTimers, ms, over });
}

function heard(fault: Error | undefined): string {
  return fault === undefined
    ? ''
    : `; the last that was heard: ${fault.message.replace(/\.$/, '')}`;
}
