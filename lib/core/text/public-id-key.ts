/**
 * Keys of public ids: what a key may be, and the cipher of one prefix.
 *
 * Promise: no part of a key appears in a message. Each prefix has a key of its own, derived from
 * the given one, so that one secret serves all kinds of ids and a number under two prefixes gives
 * two texts that have nothing in common.
 */
import { IdWords } from '../id-words.js';
import { KEY_LENGTH, Speck64, keyWords } from './speck.js';

/** 16 random bytes: as they are, as 32 hexadecimal digits, or as base64url. */
export type PublicIdKey = Uint8Array | string;

const HEX = /^[0-9a-f]{32}$/i;
/** Of 22 characters the last has two bits; with more, one key would have several spellings. */
const BASE64URL = /^[\w-]{21}[AQgw](==)?$/;
const BASE64URL_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The bytes of a key, or what is wrong with it in words. */
export function readKey(name: string, key: unknown): Uint8Array | string {
  const bytes = typeof key === 'string' ? bytesOf(key) : key;
  if (!(bytes instanceof Uint8Array) || bytes.length !== KEY_LENGTH) {
    return (
      `Expected \`${name}\` to be ${KEY_LENGTH} bytes, as Uint8Array, as 32 hexadecimal digits ` +
      `or as 22 characters of base64url, got ${kindOf(key)}. Make one with openssl rand -hex 16.`
    );
  }
  if (bytes.some((byte) => byte !== bytes[0])) return bytes;
  return (
    `Expected \`${name}\` to be ${KEY_LENGTH} random bytes, got ${KEY_LENGTH} equal ones. Make ` +
    'one with openssl rand -hex 16.'
  );
}

/** The cipher of one prefix. */
export function cipherOf(key: Uint8Array, prefix: string): Speck64 {
  const cipher = new Speck64(keyWords(key));
  const derived = [0, 1].flatMap((part) => partOfKey(cipher, part, prefix));
  return new Speck64(Uint32Array.from(derived));
}

/** CBC-MAC of a prefix; its first block says which part of the key it is, and of what length. */
function partOfKey(cipher: Speck64, part: number, prefix: string): [low: number, high: number] {
  const words = new IdWords();
  words.set(part, prefix.length);
  cipher.encrypt(words);
  for (let at = 0; at < prefix.length; at += 8) {
    words.set(words.high ^ wordAt(prefix, at + 4), words.low ^ wordAt(prefix, at));
    cipher.encrypt(words);
  }
  return [words.low, words.high];
}

/** Four characters of ASCII, the first lowest; 0 beyond the end. */
function wordAt(text: string, from: number): number {
  let word = 0;
  for (let at = 0; at < 4; at++) word |= (text.charCodeAt(from + at) || 0) << (8 * at);
  return word;
}

function bytesOf(text: string): Uint8Array | undefined {
  if (HEX.test(text)) {
    const byteAt = (at: number) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
    return Uint8Array.from({ length: KEY_LENGTH }, (_, at) => byteAt(at));
  }
  if (!BASE64URL.test(text)) return undefined;
  const digits = Array.from(text.slice(0, 22), (digit) => BASE64URL_DIGITS.indexOf(digit));
  const bytes = new Uint8Array(KEY_LENGTH);
  for (const at of bytes.keys()) {
    // A byte lies in two digits of six bits.
    const first = Math.floor((at * 8) / 6);
    const both = (digits[first]! << 6) | digits[first + 1]!;
    bytes[at] = both >> (12 - 8 - ((at * 8) % 6));
  }
  return bytes;
}

/** What was given instead of a key, without a character of it. */
function kindOf(key: unknown): string {
  if (key === undefined || key === null) return String(key);
  if (typeof key === 'string') return `a text of ${key.length} characters, which is not shown`;
  if (ArrayBuffer.isView(key)) return `${key.byteLength} bytes`;
  return `a value of type ${typeof key}, which is not shown`;
}
