/**
 * Calls for which a command waits no longer than --timeout says: a store that is silent is named,
 * and what to do about it.
 */
import { SnowflakeError } from '../../errors.js';
import { systemTimers } from '../../patience/timers.js';
import { withinLimit } from '../../patience/within-limit.js';

export type Limited = <T>(asked: Promise<T>) => Promise<T>;

/** @param place the store, for the message */
export function limitedCalls(place: string, ms: number): Limited {
  const over = (): never => {
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `${place} did not answer within ${ms} ms. Check that it is up and reachable from this ` +
        `host, or raise --timeout.`,
    );
  };
  return (asked) => withinLimit(asked, { timers: systemTimers, ms, over });
}
