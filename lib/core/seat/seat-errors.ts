/**
 * What the seat says when it refuses an id.
 *
 * Promise: no id was made when one of these is thrown.
 */
import { SnowflakeError } from '../../errors.js';

export function usedUp(workerId: number, ceilingMs: number | undefined): SnowflakeError {
  return new SnowflakeError(
    'LEASE_LOST',
    `The leased range of worker id ${workerId} is used up and could not be renewed, so no id ` +
      `was made. Ids can be made again when the store answers; use nextIdAsync() to wait.`,
    { details: { workerId, ceilingMs } },
  );
}

export function notSeated(isClosed: boolean): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    isClosed
      ? 'The lease was given back, so no id was made.'
      : 'No worker id is held yet, so no id was made. Wait until the application has started, ' +
          'or use nextIdAsync().',
    { retryable: !isClosed },
  );
}
