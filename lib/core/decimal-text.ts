/**
 * Decimal text from the two words of an id, without a BigInt.
 *
 *     id = high * 2^32 + low = high * (4294 * 10^6 + 967296) + low
 *
 * so that the last six digits and the rest each fit in a double. The rest changes about once per
 * millisecond and is kept. Promise: the same text as `id.toString()`.
 */
const TAIL = 1_000_000;

/** '000' to '999'. */
const THREE_DIGITS = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, '0'));

export class DecimalText {
  private head = 0;
  private headText = '';

  of(high: number, low: number): string {
    const rest = high * 967_296 + low;
    const carry = Math.floor(rest / TAIL);
    const tail = rest - carry * TAIL;
    const head = high * 4294 + carry;
    if (head === 0) return String(tail);
    if (head !== this.head) {
      this.head = head;
      this.headText = String(head);
    }
    const upper = Math.floor(tail / 1000);
    return this.headText + THREE_DIGITS[upper]! + THREE_DIGITS[tail - upper * 1000]!;
  }
}
