/**
 * An id as eight bytes and back, for binary columns, keys and messages.
 *
 * The highest byte comes first, so that byte order is id order.
 */
import { SnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';
import { checkedId } from './checked-id.js';

/**
 * Eight bytes, the highest first, so that byte order is id order.
 * @throws SnowflakeError ID_INVALID for anything but a bigint from 0 to 2^63 - 1.
 * @example
 * ```ts
 * import { idFromBytes, idToBytes } from 'nestjs-snowflake/core';
 *
 * idFromBytes(idToBytes(1428076403798048768n)); // 1428076403798048768n
 * ```
 */
export function idToBytes(id: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, checkedId(id));
  return bytes;
}

/**
 * The id of eight bytes; the inverse of idToBytes.
 * @throws SnowflakeError ID_INVALID for anything but eight bytes whose highest bit is 0.
 */
export function idFromBytes(bytes: Uint8Array): bigint {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 8) {
    const length = bytes instanceof Uint8Array ? `${bytes.length} bytes` : shownShort(bytes);
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected the 8 bytes of an id as Uint8Array, got ${length}.`,
    );
  }
  return checkedId(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0));
}
