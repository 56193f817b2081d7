/**
 * The text forms there are, by name: bases as data.
 *
 * Promise: plain forms have one spelling for each id (but for the case of letters where either is
 * read), so that a URL or a cache key cannot name one id twice; sortable forms are filled up with
 * zeros, so that text order is id order.
 */
import type { Base } from './radix-digits.js';
import { RadixForm } from './radix-form.js';
import type { TextForm } from './text-form.js';

const DIGITS = '0123456789';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();

const DECIMAL: Base = { alphabet: DIGITS };
const HEX: Base = { alphabet: `${DIGITS}abcdef`, anyCase: true };
const BASE_36: Base = { alphabet: DIGITS + LOWER, anyCase: true };
/** Bitcoin's: without 0, O, I and l, which look alike. */
export const BASE_58: Base = {
  alphabet: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
};
/** The same characters, lower case first, as bwmarrin/snowflake and Flickr have them. */
const BASE_58_BWMARRIN: Base = {
  alphabet: '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ',
};
/** z-base-32: the characters people confuse least come first. */
const Z_BASE_32: Base = { alphabet: 'ybndrfg8ejkmcpqxot1uwisza345h769' };
/** Crockford's: without I, L, O and U; what is misread is read as what was meant. */
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
  /** z-base-32, as bwmarrin/snowflake's Base32. */
  zBase32: new RadixForm('z-base-32', Z_BASE_32, false),
  crockford32: new RadixForm('Crockford base 32', CROCKFORD_32, false),
  /** Digits, upper case, lower case, as CosId. */
  base62: new RadixForm('base 62', BASE_62, false),
  /** 19 characters. */
  sortableDecimal: new RadixForm('sortable decimal', DECIMAL, true),
  /** 16 characters. */
  sortableHex: new RadixForm('sortable hex', HEX, true),
  /** 13 characters. */
  sortableBase36: new RadixForm('sortable base 36', BASE_36, true),
  /** 13 characters. */
  sortableCrockford32: new RadixForm('sortable Crockford base 32', CROCKFORD_32, true),
  /** 11 characters. */
  sortableBase62: new RadixForm('sortable base 62', BASE_62, true),
} as const satisfies Record<string, TextForm>;
