/**
 * The text forms by name. Each base is only data.
 *
 * Guarantee: plain forms have one spelling for each ID (apart from letter case in forms that ignore
 * it), so two URLs or cache keys never name the same ID. Sortable forms are padded with zeros, so
 * text order is ID order.
 */
import { SnowflakeError } from '../../errors.js';
import { formatShort, quoted } from '../../messages.js';
import { RadixForm, type Base } from './radix.js';
import { decodedBy, notTextRefusal, refusalBy, type TextForm } from './text-form.js';

const DIGITS = '0123456789';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();

const DECIMAL: Base = { alphabet: DIGITS };
const HEX: Base = { alphabet: `${DIGITS}abcdef`, anyCase: true };
const BASE_36: Base = { alphabet: DIGITS + LOWER, anyCase: true };
/** Bitcoin's alphabet omits 0, O, I and l, which look alike. */
export const BASE_58: Base = {
  alphabet: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
};
/** bwmarrin/snowflake and Flickr use the same characters with lower case first. */
const BASE_58_BWMARRIN: Base = {
  alphabet: '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ',
};
/** In z-base-32, the characters that are least easily confused come first. */
const Z_BASE_32: Base = { alphabet: 'ybndrfg8ejkmcpqxot1uwisza345h769' };
/** Crockford's alphabet omits I, L, O, and U, and accepts commonly misread characters. */
const CROCKFORD_32: Base = {
  alphabet: '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
  anyCase: true,
  readAs: { I: '1', L: '1', O: '0' },
};
export const BASE_62: Base = { alphabet: DIGITS + UPPER + LOWER };

/**
 * Text forms by name. Each throws SnowflakeError ID_INVALID for a value that is not an ID.
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
  /** Digits, upper case, lower case, in the order of CosId. */
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

/**
 * Adds a prefix to the texts of another form.
 *
 * Guarantee: each ID has one spelling if the inner form has one. This form's message refuses a text
 * without the prefix; the inner form's message refuses a wrong text after the prefix.
 */
class PrefixedForm<
  Prefix extends string,
  Text extends string,
> implements TextForm<`${Prefix}${Text}`> {
  readonly name: string;
  readonly pattern?: string;

  constructor(
    private readonly prefix: Prefix,
    private readonly inner: TextForm<Text>,
  ) {
    this.name = `${prefix}(${inner.name})`;
    if (inner.pattern === undefined) return;
    // Only special characters are escaped, because the flag `u` forbids other escapes.
    const literal = prefix.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    this.pattern = `^${literal}${inner.pattern.replace(/^\^/, '')}`;
  }

  encode(id: bigint): `${Prefix}${Text}` {
    return `${this.prefix}${this.inner.encode(id)}`;
  }

  decode(text: string): bigint {
    return decodedBy(this, text);
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string' || !text.startsWith(this.prefix)) return undefined;
    return this.inner.tryDecode(text.slice(this.prefix.length));
  }

  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    if (notText !== undefined) return notText;
    const start = `Expected an id as ${this.name} text, got ${quoted(text)}`;
    return text.startsWith(this.prefix)
      ? `${start}. ${refusalBy(this.inner, text.slice(this.prefix.length))}`
      : `${start}, which does not begin with "${this.prefix}". Check what kind of id it is.`;
  }
}

const PREFIX = /^[!-~]{1,32}$/;

/**
 * Adds a prefix to the texts of a form.
 * @throws SnowflakeError CONFIG_INVALID for a prefix that is not printable ASCII without spaces.
 * @example
 * ```ts
 * import { prefixedForm, textForms } from 'nestjs-snowflake/core';
 *
 * const form = prefixedForm('INV-', textForms.decimal);
 * const text: `INV-${string}` = form.encode(382366441078288384n); // 'INV-382366441078288384'
 * form.decode(text); // 382366441078288384n
 * ```
 */
export function prefixedForm<const Prefix extends string, Text extends string>(
  prefix: Prefix,
  form: TextForm<Text>,
): TextForm<`${Prefix}${Text}`> {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return new PrefixedForm(prefix, form);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'Expected `prefix` to be 1 to 32 characters of printable ASCII without spaces, got ' +
      `${formatShort(prefix)}.`,
  );
}
