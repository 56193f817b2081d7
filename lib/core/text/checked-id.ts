/**
 * Whether a value is an id of any layout: a bigint from 0 to 2^63 - 1.
 *
 * The sign bit of a signed 64-bit integer stays 0, as databases have it.
 */
import { SnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';
import { ID_MAX } from '../id-words.js';

/** True for a bigint that is an id of some layout. */
export function isId(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= 0n && value <= ID_MAX;
}

/** The id itself, once it is known to be one. */
export function checkedId(id: bigint): bigint {
  if (isId(id)) return id;
  throw new SnowflakeError('ID_INVALID', notAnIdText(id), { details: { value: id } });
}

export function notAnIdText(value: unknown): string {
  return (
    `Expected an id from 0 to ${ID_MAX}, got \`${shownShort(value)}\`. ` +
    `Ids are bigint: decode a text first; a JavaScript number cannot hold every id.`
  );
}
