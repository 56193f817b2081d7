/**
 * The exact string of an ID on its way to and from a database driver.
 *
 * Guarantee: a number that has lost digits has no string here, so it is neither sent nor read.
 */
import { ID_MAX } from '../core/id-words.js';
import { isDecimalId } from '../core/text/decimal.js';
import { SnowflakeError } from '../errors.js';
import { formatShort } from '../messages.js';

/**
 * Returns an empty string for a value without an exact one: an unsafe number has already lost
 * digits.
 */
export function exactText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : '';
}

/** @throws SnowflakeError ID_INVALID for anything but an ID in canonical form */
export function textToSend(value: unknown): string {
  const text = exactText(value);
  // In canonical form, the application and the database have equal strings.
  if (isDecimalId(text)) return text;
  throw new SnowflakeError(
    'ID_INVALID',
    `Expected an id as decimal text or bigint from 0 to ${ID_MAX}, got ${formatShort(value)}. ` +
      'Nothing was sent to the database. Keep ids as strings, in JSON too: a number is not exact ' +
      'beyond 2^53.',
    { details: { value } },
  );
}

/** @param advice the change to make if the driver returned a number */
export function refusedReading(value: unknown, advice: string): SnowflakeError {
  return new SnowflakeError(
    'ID_INVALID',
    `The database driver returned an id as ${formatShort(value)}, which is not exact. ${advice}`,
    { details: { value } },
  );
}

/** Integers of a column of 64 bits end here. */
const INTEGERS_END = 2 ** 63;

/**
 * Looks at the parameters of a query, whose columns are not known.
 * @throws SnowflakeError ID_INVALID for a number that is an id which has lost digits
 */
export function refuseLostDigits(parameters: unknown): void {
  if (Array.isArray(parameters)) parameters.forEach(refuseLostDigits);
  if (!Number.isInteger(parameters) || Number.isSafeInteger(parameters)) return;
  if (Math.abs(parameters as number) > INTEGERS_END) return;
  throw new SnowflakeError(
    'ID_INVALID',
    `A parameter of a query is the number ${formatShort(parameters)}, which has lost digits and ` +
      'would find the row of another id. Nothing was sent to the database. Keep ids as text; ' +
      'another large number is sent as text too.',
    { details: { value: parameters } },
  );
}
