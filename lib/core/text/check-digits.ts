/**
 * One check digit after a number finds mistyped digits.
 *
 * Guarantee: Damm's digit finds every wrong digit and every swap of neighbours. Letters and
 * separators are passed over, so the text of a form with a prefix has one too.
 */
import { SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';

/** Describes one way of making a check digit. */
export interface CheckDigit {
  readonly name: string;
  /**
   * Returns the text followed by its check digit.
   * @throws SnowflakeError ID_INVALID unless the text is printable ASCII with a digit in it.
   */
  append(text: string): string;
  /** True if the last character is the check digit of the others. */
  verify(text: string): boolean;
  /**
   * Returns the text without its check digit.
   * @throws SnowflakeError ID_INVALID if `verify` refuses the text.
   */
  strip(text: string): string;
}

/** The text has to be printable ASCII, since a digit of another script is no separator. */
const WITH_DIGIT = /^[ -/:-~]*\d[ -~]*$/;
/** A number of any system fits, and a huge text costs nothing. */
const LENGTH_MAX = 256;
const ZERO = 48;

class DigitBehind implements CheckDigit {
  constructor(
    readonly name: string,
    private readonly digitOf: (digits: Iterable<number>) => number,
  ) {}

  append(text: string): string {
    if (isNumbered(text)) return `${text}${this.digitOf(digitsIn(text))}`;
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected a text of printable ASCII with a digit in it, got ${formatShort(text)}.`,
      { details: { value: text } },
    );
  }

  verify(text: string): boolean {
    if (!isNumbered(text)) return false;
    const body = text.slice(0, -1);
    return isNumbered(body) && text.charCodeAt(body.length) - ZERO === this.digitOf(digitsIn(body));
  }

  strip(text: string): string {
    if (this.verify(text)) return text.slice(0, -1);
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected a text that ends in its check digit (${this.name}), got ${formatShort(text)}. A ` +
        'digit is wrong, missing or swapped.',
      { details: { value: text } },
    );
  }
}

const isNumbered = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= LENGTH_MAX && WITH_DIGIT.test(text);

function digitsIn(text: string): number[] {
  const digits: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0 && digit <= 9) digits.push(digit);
  }
  return digits;
}

/** A quasigroup that is totally anti-symmetric, from H. Michael Damm's thesis (2004). */
const QUASIGROUP = [
  '0317598642',
  '7092154863',
  '4206871359',
  '1750983426',
  '6123045978',
  '3674209581',
  '5869720134',
  '8945362017',
  '9438617205',
  '2581436790',
].map((row) => Array.from(row, Number));

function dammOf(digits: Iterable<number>): number {
  let interim = 0;
  for (const digit of digits) interim = QUASIGROUP[interim]![digit]!;
  return interim;
}

function luhnOf(digits: Iterable<number>): number {
  const fromTheRight = [...digits].toReversed();
  const sum = fromTheRight.reduce((total, digit, at) => {
    const weighted = at % 2 === 0 ? digit * 2 : digit;
    return total + (weighted > 9 ? weighted - 9 : weighted);
  }, 0);
  return (10 - (sum % 10)) % 10;
}

/**
 * Check digits by name. Take `damm`. `luhn` is for partners that ask for it: it misses a swap of 0
 * and 9.
 *
 * @example
 * ```ts
 * import { checkDigits } from 'nestjs-snowflake/core';
 *
 * checkDigits.damm.append('INV-20261121-000123'); // 'INV-20261121-0001237'
 * checkDigits.damm.verify('INV-20261121-0001273'); // false: neighbours are swapped
 * checkDigits.damm.strip('5724'); // '572'
 * ```
 */
export const checkDigits = {
  /** Finds every wrong digit and every swap of neighbours. */
  damm: new DigitBehind('Damm', dammOf),
  /** Payment cards use this one. */
  luhn: new DigitBehind('Luhn', luhnOf),
} as const satisfies Record<string, CheckDigit>;
