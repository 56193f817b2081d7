/**
 * The id of a key: bigint, or the decimal text that entities hold.
 *
 * Promise: what is not an id is refused without being shown, since it may be a secret that was
 * given in the place of the id.
 */
import { isDecimalId } from '../../core/text/decimal.js';
import { isId } from '../../core/text/checked-id.js';
import { SnowflakeError } from '../../errors.js';
import { kindOf } from './secrets.js';

/** @throws SnowflakeError ID_INVALID */
export function idOf(id: bigint | string): bigint {
  if (isId(id)) return id;
  if (typeof id === 'string' && isDecimalId(id)) return BigInt(id);
  throw new SnowflakeError(
    'ID_INVALID',
    'Expected the id of an API key as bigint or decimal text, from 0 to 2^63 - 1, got ' +
      `${kindOf(id)}. Give it an id of nextId(), or the text of one.`,
  );
}
