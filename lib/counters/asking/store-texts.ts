/**
 * What is said when a store of counters gives no positions: what happened, and what to do.
 *
 * Promise: nothing was made of an answer when one of these is thrown; names are shown in one line.
 */
import { SnowflakeError, isSnowflakeError } from '../../errors.js';
import { plainCause, shownName } from '../../shown.js';
import type { TakeAnswer } from '../counter-store.js';

/** Which counter, and in which store. */
export interface Place {
  readonly counter: string;
  readonly place: string;
}

/** What an answer without numbers means. @param cure what helps where it has to be waited often */
export function refusal(
  { counter, place }: Place,
  answer: Exclude<TakeAnswer, { status: 'ok' }>,
  cure: string,
): SnowflakeError {
  const which = `the counter ${shownName(counter)} in ${shownName(place)}`;
  switch (answer.status) {
    case 'absent':
      return new SnowflakeError(
        'COUNTER_ABSENT',
        `There is no such counter: ${which}. It was never created, or the store has lost it. It ` +
          `is not created again automatically, because its numbers could repeat. Run \`snowflake ` +
          `counters create\` with a start above every number in use, or give ` +
          `\`startAt: () => the highest id in use\`.`,
      );
    case 'mismatch':
      return new SnowflakeError(
        'COUNTER_MISMATCH',
        `The store keeps ${which} as ${shownName(answer.stored)}, another kind, layout or ` +
          `place among several stores, so no number was taken. Give what the counter was ` +
          `created with, the stores in the same order and number, or use another counter.`,
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
          `new, its store has lost data, or the most that may be granted at once is used up. ` +
          `${cure}`,
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

export function asSnowflakeError(error: unknown): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  // A store of another maker may hand on the error of its client, passwords and all.
  const cause = plainCause(error);
  return new SnowflakeError('STORE_UNAVAILABLE', `The store failed: ${cause.message}`, { cause });
}
