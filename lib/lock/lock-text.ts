/**
 * A lock, and what is common to all, as the text that a store keeps, and back.
 *
 * Promise: what cannot be read is refused, never taken for a lock that nobody holds.
 */
import { SnowflakeError } from '../errors.js';
import { fieldsIn, isWhole, numberIn } from '../registry/stored-fields.js';
import type { LockHeader, LockRow } from './lock-slice.js';

/** Of the protocol. Locks that are kept by another one are left alone. */
const VERSION = '1';

const HEADER_TEXTS = ['incarnation', 'server', 'forgottenTo'] as const;
const HEADER_NUMBERS = [
  'lastTimeMs',
  'slewMs',
  'era',
  'longestMs',
  'provenMs',
  'provenAtMs',
  'readyAtMs',
] as const;
const ROW_TEXTS = ['incarnation', 'holder', 'label', 'token'] as const;
const ROW_NUMBERS = ['era', 'sinceMs', 'untilMs'] as const;
/** In which nobody holds anything. */
const NO_ERA = 0;

export function headerText(header: LockHeader): string {
  return JSON.stringify({ version: VERSION, ...header, forgottenTo: String(header.forgottenTo) });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export function headerIn(text: string): LockHeader {
  const { version: _, ...header } = wholeFields(text, HEADER_TEXTS, HEADER_NUMBERS);
  const forgottenTo = tokenIn(header['forgottenTo']);
  return { ...(header as unknown as LockHeader), forgottenTo };
}

export function rowText({ token, ...rest }: LockRow, { incarnation }: LockHeader): string {
  return JSON.stringify({ version: VERSION, incarnation, ...rest, token: String(token) });
}

/**
 * @param header as it is now; a row that is older than a new beginning is held by nobody
 * @throws SnowflakeError STORE_UNAVAILABLE, not retryable
 */
export function rowIn(text: string, header: LockHeader | undefined): LockRow {
  const fields = wholeFields(text, ROW_TEXTS, ROW_NUMBERS);
  const { incarnation, holder, label, era, sinceMs, untilMs } = fields as unknown as LockRow & {
    readonly incarnation: string;
  };
  const token = tokenIn(fields['token']);
  const isOfNow = incarnation === header?.incarnation;
  const moment = { era: isOfNow ? era : NO_ERA, sinceMs, untilMs };
  return { token, holder, label, ...moment };
}

function tokenIn(digits: unknown): bigint {
  const token = numberIn(digits);
  if (token === undefined) throw unreadable(VERSION);
  return token;
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for what is not ours */
function wholeFields(
  text: string,
  texts: readonly string[],
  numbers: readonly string[],
): Readonly<Record<string, unknown>> {
  const fields = fieldsIn(text);
  if (fields['version'] === VERSION && isWhole(fields, texts, numbers)) return fields;
  throw unreadable(fields['version']);
}

function unreadable(version: unknown): SnowflakeError {
  return unreadableLocks(version, 'A row', 'Delete all rows of the namespace');
}

/** @param place what cannot be read @param cure what to do */
export function unreadableLocks(version: unknown, place: string, cure: string): SnowflakeError {
  const isOther = typeof version === 'string' && version !== VERSION;
  const message = isOther
    ? 'The locks have a protocol version that this package does not know. Nothing was changed. ' +
      'Use one version of nestjs-snowflake for them.'
    : `${place} of the locks cannot be read: somebody else wrote into it. Nothing is granted by ` +
      `it. ${cure}; locks are granted again when those that may still be held have ended.`;
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}
