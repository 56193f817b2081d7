/**
 * The text forms by name. Each base is data.
 *
 * Guarantee: plain forms have one spelling for each id (but for the case of letters if either is
 * read), so a URL or a cache key cannot name one id twice. Sortable forms are filled up with zeros,
 * so text order is id order.
 */
import { SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';
import type { CheckDigit } from './check-digits.js';
import { RadixForm, type Base } from './radix.js';
import { WrappedForm, type TextForm } from './text-form.js';

const DIGITS = '0123456789';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();

const DECIMAL: Base = { alphabet: DIGITS };
const HEX: Base = { alphabet: `${DIGITS}abcdef`, anyCase: true };
const BASE_36: Base = { alphabet: DIGITS + LOWER, anyCase: true };
/** Bitcoin's alphabet leaves out 0, O, I and l, which look alike. */
export const BASE_58: Base = {
  alphabet: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
};
/** bwmarrin/snowflake and Flickr use the same characters with lower case first. */
const BASE_58_BWMARRIN: Base = {
  alphabet: '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ',
};
/** In z-base-32 the characters that people confuse least come first. */
const Z_BASE_32: Base = { alphabet: 'ybndrfg8ejkmcpqxot1uwisza345h769' };
/**
 * Crockford's alphabet leaves out I, L, O and U, and reads misread characters as they were meant.
 */
const CROCKFORD_32: Base = {
  alphabet: '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
  anyCase: true,
  readAs: { I: '1', L: '1', O: '0' },
};
export const BASE_62: Base = { alphabet: DIGITS + UPPER + LOWER };

/**
 * Text forms by name. Each throws SnowflakeError ID_INVALID for what is not an id.
 *
 * @example
 * ```ts
 * import { textForms } from 'nestjs-snowflake/core';
 *
 * textForms.base58Bwmarrin.encode(1428076403798048768n); // '4jgmnx8Js8A'
 * textForms.sortableCrockford32.decode('13W5BF0C8C000'); // 1225863189192212480n
 * ```
 */
export const textForms = {
  decimal: new RadixForm('decimal', DECIMAL, false),
  hex: new RadixForm('hex', HEX, false),
  base36: new RadixForm('base 36', BASE_36, false),
  /** Bitcoin's alphabet. */
  base58: new RadixForm('base 58', BASE_58, false),
  /** bwmarrin/snowflake's alphabet. */
  base58Bwmarrin: new RadixForm('bwmarrin base 58', BASE_58_BWMARRIN, false),
  /** z-base-32, the Base32 of bwmarrin/snowflake. */
  zBase32: new RadixForm('z-base-32', Z_BASE_32, false),
  crockford32: new RadixForm('Crockford base 32', CROCKFORD_32, false),
  /** Digits, upper case, lower case, the order of CosId. */
  base62: new RadixForm('base 62', BASE_62, false),
  /** It has 19 characters. */
  sortableDecimal: new RadixForm('sortable decimal', DECIMAL, true),
  /** It has 16 characters. */
  sortableHex: new RadixForm('sortable hex', HEX, true),
  /** It has 13 characters. */
  sortableBase36: new RadixForm('sortable base 36', BASE_36, true),
  /** It has 13 characters. */
  sortableCrockford32: new RadixForm('sortable Crockford base 32', CROCKFORD_32, true),
  /** It has 11 characters. */
  sortableBase62: new RadixForm('sortable base 62', BASE_62, true),
} as const satisfies Record<string, TextForm>;

/*
 * Forms made of other forms: with a prefix or a suffix, of a fixed width, with a check digit.
 *
 * Guarantee: the result is a form again, so they may be combined, and each id still has one
 * spelling if the inner form has one.
 */

/**
 * Puts a prefix before the texts of a form.
 * @throws SnowflakeError CONFIG_INVALID for a prefix that is not printable ASCII without spaces.
 * @example
 * ```ts
 * import { checkDigitForm, checkDigits, prefixedForm, textForms } from 'nestjs-snowflake/core';
 *
 * const form = prefixedForm('INV-', checkDigitForm(textForms.decimal, checkDigits.damm));
 * const text: `INV-${string}` = form.encode(382366441078288384n); // 'INV-3823664410782883849'
 * form.decode(text); // 382366441078288384n
 * ```
 */
export function prefixedForm<const Prefix extends string, Text extends string>(
  prefix: Prefix,
  form: TextForm<Text>,
): TextForm<`${Prefix}${Text}`> {
  checkAffix('prefix', prefix);
  return new WrappedForm({
    name: `${prefix}(${form.name})`,
    pattern: patternWithin(form, (pattern) => escaped(prefix) + pattern),
    inner: form,
    wrap: (text) => `${prefix}${text as Text}` as const,
    unwrap: (text) => (text.startsWith(prefix) ? text.slice(prefix.length) : undefined),
    faultOf: () => `, which does not begin with "${prefix}". Check what kind of id it is.`,
  });
}

/**
 * Puts a suffix after the texts of a form.
 * @throws SnowflakeError CONFIG_INVALID for a suffix that is not printable ASCII without spaces.
 */
export function suffixedForm<Text extends string, const Suffix extends string>(
  form: TextForm<Text>,
  suffix: Suffix,
): TextForm<`${Text}${Suffix}`> {
  checkAffix('suffix', suffix);
  return new WrappedForm({
    name: `(${form.name})${suffix}`,
    pattern: patternWithin(form, (pattern) => pattern + escaped(suffix)),
    inner: form,
    wrap: (text) => `${text as Text}${suffix}` as const,
    unwrap: (text) => (text.endsWith(suffix) ? text.slice(0, -suffix.length) : undefined),
    faultOf: () => `, which does not end with "${suffix}". Check what kind of id it is.`,
  });
}

/**
 * Fills up the texts of a form on the left with its zero digit.
 * @param width Characters, 1 to 64. An id that needs more cannot be written: ID_INVALID.
 * @throws SnowflakeError CONFIG_INVALID for another width, and for a form that does not write 0 as
 * one digit, as the sortable forms and those with a prefix do not.
 * @example
 * ```ts
 * import { fixedWidthForm, textForms } from 'nestjs-snowflake/core';
 *
 * fixedWidthForm(textForms.decimal, 8).encode(1234n); // '00001234'
 * ```
 */
export function fixedWidthForm(form: TextForm, width: number): TextForm {
  const zero = form.encode(0n);
  if (!Number.isInteger(width) || width < 1 || width > WIDTH_MAX) {
    throw configFault('width', `an integer from 1 to ${WIDTH_MAX}`, width);
  }
  if (zero.length !== 1) throw configFault('form', 'a form that writes 0 as one digit', zero);
  return new WrappedForm({
    name: `${form.name} of ${width} characters`,
    pattern: `.{${width}}`,
    inner: form,
    wrap: (text) => filledUp(text, width, zero),
    unwrap: (text) => (text.length === width ? withoutZeros(text, zero) : undefined),
    faultOf: (text) =>
      `, which has ${text.length} characters. This form has exactly ${width}, filled up with ` +
      `leading "${zero}".`,
  });
}

/**
 * Puts a check digit after the texts of a decimal form. It covers no other digits.
 * @throws SnowflakeError CONFIG_INVALID for a form of another base.
 */
export function checkDigitForm(form: TextForm, digit: CheckDigit): TextForm {
  const twelve = form.encode(12n);
  if (!twelve.includes('12')) throw configFault('form', 'a decimal form', twelve);
  return new WrappedForm({
    name: `${form.name} with a ${digit.name} digit`,
    pattern: patternWithin(form, (pattern) => `${pattern}\\d`),
    inner: form,
    wrap: (text) => digit.append(text),
    unwrap: (text) => (digit.verify(text) ? text.slice(0, -1) : undefined),
    faultOf: () => ', whose check digit does not fit. A digit is wrong, missing or swapped.',
  });
}

const AFFIX = /^[!-~]{1,32}$/;
const WIDTH_MAX = 64;

function checkAffix(name: string, affix: unknown): void {
  if (typeof affix === 'string' && AFFIX.test(affix)) return;
  throw configFault(name, '1 to 32 characters of printable ASCII without spaces', affix);
}

function configFault(name: string, expected: string, got: unknown): SnowflakeError {
  const text = `Expected \`${name}\` to be ${expected}, got ${formatShort(got)}.`;
  return new SnowflakeError('CONFIG_INVALID', text);
}

function filledUp(text: string, width: number, zero: string): string {
  if (text.length <= width) return text.padStart(width, zero);
  const fault = `Expected an id of at most ${width} characters, got "${text}". Take a wider form.`;
  throw new SnowflakeError('ID_INVALID', fault, { details: { value: text } });
}

/** Keeps at least the last character, which may be the only digit of 0. */
function withoutZeros(text: string, zero: string): string {
  let at = 0;
  while (at < text.length - 1 && text[at] === zero) at++;
  return text.slice(at);
}

/** Makes the grammar of a form a part of another one. */
function patternWithin(
  { pattern }: TextForm,
  within: (pattern: string) => string,
): string | undefined {
  return pattern === undefined ? undefined : within(pattern.replace(/^\^|\$$/g, ''));
}

/** Escapes only characters with a meaning: the flag `u` forbids to escape others. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
