/**
 * Decimal text from the two words of an id and back, without a BigInt.
 *
 *     id = high * 2^32 + low = high * (429496 * 10^4 + 7296) + low
 *
 * so that the last four digits and the rest each fit in a double. The rest changes once or twice a
 * millisecond and is kept. Promise: the same text as `id.toString()`.
 */
import type { IdWords } from '../id-words.js';

const TAIL = 10_000;
const WORD = 2 ** 32;
/** As many digits as an exact double holds. */
const EXACT_LENGTH = 15;
const LENGTH_MAX = 20;

/** '0000' to '9999'. */
const FOUR_DIGITS = Array.from({ length: TAIL }, (_, n) => String(n).padStart(4, '0'));

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
    return this.headText + FOUR_DIGITS[tail]!;
  }
}

/** Reads a text into words; false when it is no decimal number of at most 63 bits. */
export function readDecimal(text: string, words: IdWords): boolean {
  if (text.length === 0 || text.length > LENGTH_MAX) return false;
  let high = 0;
  let low = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
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
