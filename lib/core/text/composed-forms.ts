/**
 * Forms made of other forms: with a prefix or a suffix, of a fixed width, with a check digit.
 *
 * Promise: what is made is again a form, so they may be put into each other, and each id has still
 * one spelling where the form within has one.
 */
import { SnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';
import type { CheckDigit } from './check-digits.js';
import { WrappedForm } from './wrapped-form.js';
import type { TextForm } from './text-form.js';

/**
 * The texts of a form after a prefix.
 * @throws SnowflakeError CONFIG_INVALID for a prefix that is not printable ASCII without spaces.
 * @example
 * ```ts
 * import { checkDigitForm, checkDigits, prefixedForm, textForms } from 'nestjs-snowflake';
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
 * The texts of a form before a suffix.
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
 * The texts of a form filled up on the left with its zero digit.
 * @param width Characters, 1 to 64. An id that needs more cannot be written: ID_INVALID.
 * @throws SnowflakeError CONFIG_INVALID for another width, and for a form that does not write 0 as
 * one digit, as the sortable forms and those with a prefix do not.
 * @example
 * ```ts
 * import { fixedWidthForm, textForms } from 'nestjs-snowflake';
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
 * The texts of a decimal form followed by a check digit; other digits are not covered by it.
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
  const text = `Expected \`${name}\` to be ${expected}, got ${shownShort(got)}.`;
  return new SnowflakeError('CONFIG_INVALID', text);
}

function filledUp(text: string, width: number, zero: string): string {
  if (text.length <= width) return text.padStart(width, zero);
  const fault = `Expected an id of at most ${width} characters, got "${text}". Take a wider form.`;
  throw new SnowflakeError('ID_INVALID', fault, { details: { value: text } });
}

/** All but the last, which may be the only digit of 0. */
function withoutZeros(text: string, zero: string): string {
  let at = 0;
  while (at < text.length - 1 && text[at] === zero) at++;
  return text.slice(at);
}

/** The grammar of a form as a part of another one. */
function patternWithin(
  { pattern }: TextForm,
  within: (pattern: string) => string,
): string | undefined {
  return pattern === undefined ? undefined : within(pattern.replace(/^\^|\$$/g, ''));
}

/** No more than what means something: with the flag `u` nothing else may be escaped. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
