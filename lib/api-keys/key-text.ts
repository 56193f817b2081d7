/**
 * The format of an API key: prefix, underscore, ID (11 base 62 digits), secret (43), and the CRC-32
 * of all characters before it (6).
 *
 * Guarantee: strings of any other format are rejected without a query. One wrong character is
 * always found, because CRC-32 detects any change within 32 bits. A derived key has two more
 * characters after the prefix: the letter of its secret and an underscore. One wrong character
 * therefore cannot turn a key of one kind into the other.
 */
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ID_MAX, IdWords } from '../core/id-words.js';
import { RadixDigits } from '../core/text/radix.js';
import { BASE_62 } from '../core/text/text-forms.js';

/*
 * Base 62: the digits, and 256 bits as a string of fixed width.
 *
 * Guarantee: equal bytes have equal strings, and different bytes different ones. No BigInt is
 * created: the number is divided by 62^5 in limbs of 16 bits, so every step is an exact double.
 */

/** SHA-256 has this many bytes, and so does a random secret. */
export const SECRET_BYTES = 32;
/** 62^43 is just above 2^256. */
export const SECRET_WIDTH = 43;

const digits = new RadixDigits(BASE_62);

const LIMB = 2 ** 16;
const PART_WIDTH = 5;
const PART = 62 ** PART_WIDTH;
const PART_COUNT = Math.ceil(SECRET_WIDTH / PART_WIDTH);

/** Writes 32 bytes as 43 characters. */
export function base62Of(bytes: Uint8Array): string {
  const limbs = new Float64Array(SECRET_BYTES / 2);
  for (let at = 0; at < limbs.length; at++) limbs[at] = bytes[2 * at]! * 256 + bytes[2 * at + 1]!;
  let text = '';
  for (let part = 0; part < PART_COUNT; part++) {
    text = filled(0, dividedByPart(limbs), PART_WIDTH) + text;
  }
  return text.slice(-SECRET_WIDTH);
}

/** Divides the number in place. @returns the remainder */
function dividedByPart(limbs: Float64Array): number {
  let rest = 0;
  for (let at = 0; at < limbs.length; at++) {
    const value = rest * LIMB + limbs[at]!;
    const quotient = Math.floor(value / PART);
    rest = value - quotient * PART;
    limbs[at] = quotient;
  }
  return rest;
}

/** The parts of a key that are readable without a secret. */
export interface ParsedApiKey {
  /** The ID that the key was issued for, as a decimal string. */
  readonly keyId: string;
  /** The letter of the secret that a derived key uses; absent for a stored key. */
  readonly secretName?: string | undefined;
}

const ID_WIDTH = digits.widthOf(63);
const CHECK_WIDTH = digits.widthOf(32);
/** The part after the prefix, or after the name of the secret. */
const BODY_WIDTH = ID_WIDTH + SECRET_WIDTH + CHECK_WIDTH;
const NAME_WIDTH = 2;
const HIGH_MAX = Number(ID_MAX >> 32n);

const BODY = new RegExp(`^${digits.classOf(() => true)}{${BODY_WIDTH}}$`);
const words = new IdWords();

export class KeyText {
  /** Every key begins with this. */
  readonly #start: string;
  readonly #names: readonly string[];

  /** @param names of the secrets that derived keys may name: one letter each */
  constructor(prefix: string, names: readonly string[]) {
    this.#start = `${prefix}_`;
    this.#names = names;
  }

  /** The part before the secret: the message that a derived key authenticates. */
  headOf(id: bigint, secretName?: string): string {
    words.id = id;
    const name = secretName === undefined ? '' : `${secretName}_`;
    return this.#start + name + filled(words.high, words.low, ID_WIDTH);
  }

  headIn(text: string): string {
    return text.slice(0, -(SECRET_WIDTH + CHECK_WIDTH));
  }

  secretIn(text: string): string {
    return text.slice(-(SECRET_WIDTH + CHECK_WIDTH), -CHECK_WIDTH);
  }

  write(head: string, secret: string): string {
    return head + secret + checkOf(head + secret);
  }

  read(text: unknown): ParsedApiKey | undefined {
    if (typeof text !== 'string' || !text.startsWith(this.#start)) return undefined;
    const from = text.length - BODY_WIDTH;
    const secretName = this.#nameIn(text, from);
    const body = text.slice(from);
    if (secretName === undefined || !BODY.test(body)) return undefined;
    if (checkOf(text.slice(0, -CHECK_WIDTH)) !== text.slice(-CHECK_WIDTH)) return undefined;
    if (!digits.read(body.slice(0, ID_WIDTH), 0, words) || words.high > HIGH_MAX) return undefined;
    const keyId = String(words.id);
    return secretName === '' ? { keyId } : { keyId, secretName };
  }

  /** Returns '' for a stored key, and undefined if neither format begins this way. */
  #nameIn(text: string, from: number): string | undefined {
    const { length } = this.#start;
    if (from === length) return '';
    if (from !== length + NAME_WIDTH || text[from - 1] !== '_') return undefined;
    return this.#names.find((name) => name === text[length]);
  }
}

/** A public checksum: it keeps mistyped keys away from the database, and proves nothing. */
const checkOf = (text: string): string => filled(0, crc32(text), CHECK_WIDTH);

const filled = (high: number, low: number, width: number): string =>
  digits.textOf(high, low).padStart(width, digits.zero);

/*
 * Hashes with a pepper, derived keys, and keys of other systems all use this function. The vectors
 * of RFC 2202 and RFC 4231 therefore test each of them.
 */

export function hmacOf(algorithm: 'md5' | 'sha256', secret: Uint8Array, message: string): Buffer {
  return createHmac(algorithm, secret).update(message).digest();
}
