/**
 * `publicIds()`: IDs to publish, such as `ord_` and eleven characters, which hide count and order.
 *
 * Guarantee: invalid options fail at once, with every error, and no message contains a key. A
 * public ID gives no permission.
 */
import { quoted, formatShort } from '../../messages.js';
import { refuse, refused, unknownNames } from '../../options.js';
import { IdWords } from '../id-words.js';
import { checkedId } from './decimal.js';
import { RadixDigits } from './radix.js';
import { KEY_LENGTH, keyWords, Speck64 } from './speck.js';
import { decodedBy, notTextRefusal, type TextForm } from './text-form.js';
import { BASE_58 } from './text-forms.js';

/** Options of publicIds(). */
export interface PublicIdsOptions<Prefix extends string = string> {
  /**
   * Each public ID begins with this prefix and an underscore. A prefix is a lower-case letter, then
   * up to 15 lower-case letters or digits. Use a separate prefix for each kind of entity.
   */
  readonly prefix: Prefix;
  /** The permanent key. Another key would decode existing strings to different IDs. */
  readonly key?: PublicIdKey | undefined;
  /**
   * Later keys, each under a letter from a to z. The letter follows the underscore in the key's
   * strings.
   */
  readonly keys?: Readonly<Record<string, PublicIdKey>> | undefined;
  /** The letter of the key that encodes; strings of all keys decode. Default: `key`. */
  readonly writeKey?: string | undefined;
}

const PREFIX = /^[a-z][a-z0-9]{0,15}$/;
const PREFIX_LENGTH_MAX = 16;
const LETTER = /^[a-z]$/;

/**
 * Returns the public ID form of one kind of entity. One secret serves all kinds, because each
 * prefix has its own key, derived from the secret. Public IDs hide count and order. They do not
 * authenticate and give no permission.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error: an invalid prefix, key or letter.
 * @example
 * ```ts
 * import { publicIds, type PublicId } from 'nestjs-snowflake';
 *
 * const key = process.env['PUBLIC_ID_KEY']; // of openssl rand -hex 16
 * const orderIds = publicIds({ prefix: 'ord', key });
 * const customerIds = publicIds({ prefix: 'cus', key });
 *
 * const text: PublicId<'ord'> = orderIds.encode(382366441078288384n); // ord_ and 11 characters
 * orderIds.decode(text); // 382366441078288384n
 * orderIds.tryDecode('ord_of a client'); // undefined
 * //@ts-expect-error a customer is no order
 * orderIds.decode(customerIds.encode(382366441078288384n));
 * ```
 */
export function publicIds<const Prefix extends string>(
  options: PublicIdsOptions<Prefix>,
): PublicIds<Prefix> {
  const { prefix, key, keys = {}, writeKey = '' } = options;
  if (typeof keys !== 'object' || keys === null) {
    throw refused(['Expected `keys` to be an object with a key for each letter.']);
  }
  const named: [letter: string, key: unknown][] = Object.entries(keys);
  if (key !== undefined || writeKey === '') named.unshift(['', key]);
  const read = named.map(([letter, one]) => [letter, readKey(nameOf(letter), one)] as const);
  const faults = [
    ...unknownNames(options, 'prefix, key, keys, writeKey', 'publicIds()'),
    prefixFault(prefix),
    ...Object.keys(keys).map(letterFault),
    ...read.map(([, bytes]) => (typeof bytes === 'string' ? bytes : undefined)),
    writeKey === '' || Object.keys(keys).includes(writeKey)
      ? undefined
      : 'Expected `writeKey` to be one of the letters in `keys`.',
  ].filter((fault) => fault !== undefined);
  refuse(faults);
  const ciphers = read.map(([letter, bytes]) => {
    return [letter, cipherOf(bytes as Uint8Array, prefix)] as const;
  });
  return new OpaqueForm(prefix, new Map(ciphers), writeKey);
}

/** A message may name a key only by one letter: a longer name could be a key in the wrong place. */
function nameOf(letter: string): string {
  if (letter === '') return 'key';
  return LETTER.test(letter) ? `keys.${letter}` : 'keys';
}

function prefixFault(prefix: unknown): string | undefined {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return undefined;
  const isShort = typeof prefix !== 'string' || prefix.length <= PREFIX_LENGTH_MAX;
  const got = isShort ? formatShort(prefix) : 'a longer text, which is not shown';
  return (
    'Expected `prefix` to be a lower-case letter and up to 15 more lower-case letters or digits, ' +
    `got ${got}. The underscore is added.`
  );
}

function letterFault(letter: string): string | undefined {
  if (LETTER.test(letter)) return undefined;
  return (
    'Expected every name in `keys` to be one letter from a to z, got a name of ' +
    `${letter.length} characters.`
  );
}

/*
 * The keys.
 *
 * Guarantee: no message contains a part of a key. Each prefix has its own key, derived from the
 * given one, so one number under two prefixes gives two unrelated strings.
 */

/** A key of 16 random bytes: raw, as 32 hexadecimal digits, or as base64url. */
export type PublicIdKey = Uint8Array | string;

const HEX = /^[0-9a-f]{32}$/i;
/** The last of 22 characters carries two bits; with more, a key would have several spellings. */
const BASE64URL = /^[\w-]{21}[AQgw](==)?$/;
const BASE64URL_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Returns the bytes of a key, or an error message. */
function readKey(name: string, key: unknown): Uint8Array | string {
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

function cipherOf(key: Uint8Array, prefix: string): Speck64 {
  const cipher = new Speck64(keyWords(key));
  const derived = [0, 1].flatMap((part) => partOfKey(cipher, part, prefix));
  return new Speck64(Uint32Array.from(derived));
}

/**
 * CBC-MAC of a prefix; its first block holds the number of the part and the length of the prefix.
 */
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

/** Packs four characters of ASCII, the first lowest; 0 beyond the end. */
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
    // Each byte spans two digits of six bits.
    const first = Math.floor((at * 8) / 6);
    const both = (digits[first]! << 6) | digits[first + 1]!;
    bytes[at] = both >> (12 - 8 - ((at * 8) % 6));
  }
  return bytes;
}

/** Describes the value passed as a key, without any of its characters. */
function kindOf(key: unknown): string {
  if (key === undefined || key === null) return String(key);
  if (typeof key === 'string') return `a text of ${key.length} characters, which is not shown`;
  if (ArrayBuffer.isView(key)) return `${key.byteLength} bytes`;
  return `a value of type ${typeof key}, which is not shown`;
}

/*
 * The public ID: an ID encrypted as one block of 64 bits, written in base 58.
 *
 * Guarantee: every ID has one string for each key, and a string that decodes is an ID. Refusing a
 * wrong string takes the same time for any length. JSON and inspection never show a key.
 */

/** The string of a public ID: `PublicId<'ord'>` is `ord_${string}`. */
export type PublicId<Prefix extends string = string> = `${Prefix}_${string}`;

/** Accepts any runtime string; a string literal must have this prefix. */
type Readable<Text extends string, Prefix extends string> = string extends Text
  ? Text
  : PublicId<Prefix>;

/** The form of the public IDs of one kind of entity. */
export interface PublicIds<Prefix extends string = string> extends TextForm<PublicId<Prefix>> {
  readonly prefix: Prefix;
  readonly pattern: string;
  /**
   * @throws SnowflakeError ID_INVALID for another prefix, length, or alphabet, for a number above
   * 2^64 - 1, and for a string of another key, as far as this is detectable.
   */
  decode<Text extends string>(text: Text & Readable<Text, Prefix>): bigint;
  tryDecode<Text extends string>(text: Text & Readable<Text, Prefix>): bigint | undefined;
  /** True for every text that `decode` accepts. */
  is(value: unknown): value is PublicId<Prefix>;
}

const BLOCK_BITS = 64;
const HIGH_MAX = 2 ** 31 - 1;

/** 58^11 is more than 2^64, so base 58 needs no more characters than base 62. */
const digits = new RadixDigits(BASE_58);
const WIDTH = digits.widthOf(BLOCK_BITS);
const scratch = new IdWords();

class OpaqueForm<Prefix extends string> implements PublicIds<Prefix> {
  readonly name: string;
  readonly prefix: Prefix;
  readonly pattern: string;
  /** New public IDs begin with this. */
  readonly #head: PublicId<Prefix>;
  readonly #writer: Speck64;
  /** The keys by letter; '' is the first key. */
  readonly #ciphers: ReadonlyMap<string, Speck64>;

  constructor(prefix: Prefix, ciphers: ReadonlyMap<string, Speck64>, writeKey: string) {
    this.name = `${prefix}_`;
    this.prefix = prefix;
    this.#head = `${prefix}_${writeKey}`;
    this.#ciphers = ciphers;
    this.#writer = ciphers.get(writeKey)!;
    this.pattern = `^${prefix}_${letterClass(ciphers)}${digits.classOf(() => true)}{${WIDTH}}$`;
  }

  encode(id: bigint): PublicId<Prefix> {
    scratch.id = checkedId(id);
    this.#writer.encrypt(scratch);
    const text = digits.textOf(scratch.high, scratch.low).padStart(WIDTH, digits.zero);
    return `${this.#head}${text}`;
  }

  decode(text: string): bigint {
    return decodedBy(this, text);
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string' || !text.startsWith(this.name)) return undefined;
    const from = text.length - WIDTH;
    if (from < this.name.length || from > this.name.length + 1) return undefined;
    const cipher = this.#ciphers.get(text.slice(this.name.length, from));
    if (cipher === undefined || !digits.read(text, from, scratch)) return undefined;
    cipher.decrypt(scratch);
    return scratch.high <= HIGH_MAX ? scratch.id : undefined;
  }

  is(value: unknown): value is PublicId<Prefix> {
    return this.tryDecode(value as string) !== undefined;
  }

  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    return (
      notText ?? `Expected an id as ${this.name} text, got ${quoted(text)}${this.#faultOf(text)}`
    );
  }

  #faultOf(text: string): string {
    if (text === '') return ', which is empty. Check that the id was sent at all.';
    if (!text.startsWith(this.name)) {
      return `, which does not begin with "${this.name}". Check what kind of id it is.`;
    }
    const from = text.length - WIDTH;
    const letter = text.slice(this.name.length, from);
    if (from < this.name.length || !this.#hasLength(letter.length)) {
      return (
        `, which has ${text.length} characters. Such an id has ` +
        `${this.#lengths().join(' or ')}. Check that all of it was sent, and nothing more.`
      );
    }
    const stranger = digits.strangerIn(text, from, text.length);
    if (stranger !== undefined) return stranger;
    if (!this.#ciphers.has(letter)) {
      return `, which names the key "${letter}", which is not among \`keys\`. Check the keys here.`;
    }
    if (!digits.read(text, from, scratch)) {
      return ', which is larger than 2^64 - 1. Check that nothing was changed in it.';
    }
    return ', which this key did not write. Check that nothing was changed in it.';
  }

  #hasLength(letters: number): boolean {
    return [...this.#ciphers.keys()].some((letter) => letter.length === letters);
  }

  #lengths(): number[] {
    const lengths = [...this.#ciphers.keys()].map(
      ({ length }) => this.name.length + length + WIDTH,
    );
    return [...new Set(lengths)].toSorted((a, b) => a - b);
  }
}

/** The letters as a part of a regular expression; empty if only the first key exists. */
function letterClass(ciphers: ReadonlyMap<string, Speck64>): string {
  const letters = [...ciphers.keys()].join('');
  if (letters === '') return '';
  return ciphers.has('') ? `[${letters}]?` : `[${letters}]`;
}
