/**
 * What segments say when there are no numbers: what happened, what was done, what to do.
 *
 * Promise: no number was made when one of these is thrown.
 */
import { SnowflakeError } from '../../errors.js';
import { shownName } from '../../shown.js';
import type { Place } from '../asking/store-texts.js';

export function notStarted(): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    'No numbers have been taken from the counter yet, so no id was made. Make ids after the ' +
      'start of the application, or wait with nextIdAsync().',
  );
}

export function stopped(): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    'The numbers in hand were given back at shutdown, so no id was made. This is the last ' +
      'shutdown step: make ids earlier, in the onApplicationShutdown hooks at the latest.',
    { retryable: false },
  );
}

export function spent({ counter }: Place, fault: SnowflakeError | undefined): SnowflakeError {
  const why = fault === undefined ? 'The next ones are on their way.' : fault.message;
  const waitMs = fault?.details['waitMs'];
  return new SnowflakeError(
    'SEGMENT_SPENT',
    `All numbers in hand of the counter ${shownName(counter)} are used, so no id was made. ` +
      `${why} Wait with nextIdAsync(); if this is seen often, raise \`stepMax\` or \`lastsMs\`.`,
    { cause: fault, details: waitMs === undefined ? {} : { waitMs } },
  );
}

export function startFailed(text: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', `The function \`startAt\` failed: ${text}`);
}

export function noHighestId(got: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Expected the function \`startAt\` to give the highest id in use, as bigint or decimal text, ` +
      `or null for an empty table, got ${got}.`,
  );
}
