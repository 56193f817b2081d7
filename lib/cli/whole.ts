/**
 * A count on the command line, in the grammar that every decimal text of this package has: no sign,
 * no leading zero, nothing around it.
 */
import { isDecimalId } from '../core/text/decimal.js';

/** Undefined for any other text, and for what a number does not hold exactly. */
export function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return isDecimalId(text) && Number.isSafeInteger(value) ? value : undefined;
}
