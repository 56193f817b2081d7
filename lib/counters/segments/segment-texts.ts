/**
 * What segments say when there are no numbers: what happened, what was done, what to do.
 *
 * Promise: no number was made when one of these is thrown.
 */
import { SnowflakeError } from '../../errors.js';
import { shownName } from '../../shown.js';
import type { TakeAnswer } from '../counter-store.js';

/** Which counter, and in which store. */
export interface Place {
  readonly counter: string;
  readonly place: string;
}

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
    'The numbers in hand were given back at shutdown, so no id was made. That is done last: make ' +
      'ids before the application has closed, in its onApplicationShutdown hooks at the latest.',
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

/** What an answer without numbers means. */
export function refusal(
  { counter, place }: Place,
  answer: Exclude<TakeAnswer, { status: 'ok' }>,
): SnowflakeError {
  const which = `the counter ${shownName(counter)} in ${shownName(place)}`;
  switch (answer.status) {
    case 'absent':
      return new SnowflakeError(
        'COUNTER_ABSENT',
        `There is no such counter: ${which}. It was never created, or the store has lost it, and ` +
          `a counter is not begun anew by itself: its numbers would come twice. Run \`snowflake ` +
          `counters create\` with a start above every number in use, or give ` +
          `\`startAt: () => the highest id in use\`.`,
      );
    case 'mismatch':
      return new SnowflakeError(
        'COUNTER_MISMATCH',
        `The store keeps ${which} as ${shownName(answer.stored)}, another kind or another place ` +
          `among several stores, so no number was taken. Give \`stores\` in the order and number ` +
          `with which the counter was created, or another \`counter\`.`,
        { details: { stored: shownName(answer.stored) } },
      );
    case 'full':
      return new SnowflakeError(
        'COUNTER_FULL',
        `No number is left: ${which} has reached its end at 2^63 - 1.`,
      );
    case 'wait':
      return new SnowflakeError(
        'STORE_UNAVAILABLE',
        `The store grants nothing of ${which} for another ${answer.waitMs} ms: the counter is ` +
          `new, its store has lost data, or as much as may be lost at once is under way. If this ` +
          `lasts, raise \`skip\`.`,
        { details: { waitMs: answer.waitMs } },
      );
  }
}

/** A store that breaks its contract: nothing of the answer is used. */
export function wrongAnswer({ counter, place }: Place, what: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The answer of ${shownName(place)} for the counter ${shownName(counter)} was not used: ` +
      `${what}.`,
  );
}

export function silent({ place }: Place, timeoutMs: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `${shownName(place)} did not answer within ${timeoutMs} ms, so no numbers were taken. Check ` +
      'that the store is up and reachable from this host.',
    { details: { timeoutMs } },
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
