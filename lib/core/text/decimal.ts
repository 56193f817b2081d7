/**
 * Converts between an ID and decimal text without a BigInt:
 *
 * id = high * 2^32 + low = high * (429496 * 10^4 + 7296) + low
 *
 * The last four digits and the rest each fit in a double. The rest changes one or two times a
 * millisecond and is cached.
 *
 * Guarantee: the text equals `id.toString()`, and any other text is refused.
 */
import { SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';
import { ID_MAX, type IdWords } from '../id-words.js';

const TAIL = 10_000;
const WORD = 2 ** 32;
/** An exact double holds this many digits. */
const EXACT_LENGTH = 15;
/** 2^63 - 1 has this many digits. */
const LENGTH_MAX = 19;
const ZERO = 48;

/**
 * The grammar of decimal text as a regular expression for JSON Schema: no sign, no leading zero, no
 * other characters. It does not check the bound of 2^63 - 1.
 */
export const DECIMAL_PATTERN = '^(0|[1-9]\\d{0,18})$';

/**
 * '0000' to '9999', each computed on first use, because computing all at once takes milliseconds.
 */
const FOUR_DIGITS = Array.from<string | undefined>({ length: TAIL });

export class DecimalText {
  private head = 0;
  private headText = '';

  of(high: number, low: number): string {
    const rest = high * 7296 + low;
    const carry = Math.floor(rest / TAIL);
    const tail = rest - carry * TAIL;
    const head = high * 429_496 + carry;
    if (head === 0) return String(tail);
    if (head !== this.head) {
      this.head = head;
      this.headText = String(head);
    }
    return this.headText + (FOUR_DIGITS[tail] ??= String(tail).padStart(4, '0'));
  }
}

/** Reads a text into words; false unless it is the decimal text of an ID. */
export function readDecimal(text: string, words: IdWords): boolean {
  if (text.length === 0 || text.length > LENGTH_MAX) return false;
  if (text.length > 1 && text.charCodeAt(0) === ZERO) return false;
  let high = 0;
  let low = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return false;
    low = low * 10 + digit;
    if (at < EXACT_LENGTH - 1) continue;
    const carry = Math.floor(low / WORD);
    high = high * 10 + carry;
    low -= carry * WORD;
  }
  const carry = Math.floor(low / WORD);
  high += carry;
  words.set(high, low - carry * WORD);
  return high < WORD / 2;
}

const GRAMMAR = new RegExp(DECIMAL_PATTERN);
const ID_MAX_TEXT = String(ID_MAX);

/** True for every text that readDecimal() accepts. */
export function isDecimalId(text: string): boolean {
  // Among texts of equal length, the greater number is the greater text.
  return GRAMMAR.test(text) && (text.length < LENGTH_MAX || text <= ID_MAX_TEXT);
}

/** True for a bigint from 0 to 2^63 - 1. The sign bit stays 0, so databases can store IDs. */
export function isId(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= 0n && value <= ID_MAX;
}

/** Returns the value if it is an ID, and throws otherwise. */
export function checkedId(id: bigint): bigint {
  if (isId(id)) return id;
  throw new SnowflakeError('ID_INVALID', notAnIdText(id), { details: { value: id } });
}

export function notAnIdText(value: unknown): string {
  return (
    `Expected an id from 0 to ${ID_MAX}, got \`${formatShort(value)}\`. ` +
    `Ids are bigint: decode a text first; a JavaScript number cannot hold every id.`
  );
}

/* An ID as eight bytes and back, for binary columns, keys and messages. */

/**
 * Writes eight bytes, the highest first, so byte order is ID order.
 * @throws SnowflakeError ID_INVALID unless the value is a bigint from 0 to 2^63 - 1.
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
 * Reads the ID of eight bytes; the inverse of idToBytes.
 * @throws SnowflakeError ID_INVALID unless the value is eight bytes whose highest bit is 0.
 */
export function idFromBytes(bytes: Uint8Array): bigint {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 8) {
    const length = bytes instanceof Uint8Array ? `${bytes.length} bytes` : formatShort(bytes);
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected the 8 bytes of an id as Uint8Array, got ${length}.`,
    );
  }
  return checkedId(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0));
}
