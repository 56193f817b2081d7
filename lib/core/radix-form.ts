/**
 * An id as text in some base, both ways.
 *
 * Promise: encode and decode are inverse to each other, a text that decodes is an id, and a text
 * of any length is refused in the time of a short one. Which bases there are is left to
 * snowflake-text.ts; here a base is data.
 */
import { SnowflakeError, shown } from '../errors.js';
import { ID_MAX, IdWords } from './id-words.js';

/** One way of writing an id as text, both ways. */
export interface TextForm {
  readonly name: string;
  /** @throws SnowflakeError ID_INVALID for anything but a bigint from 0 to 2^63 - 1. */
  encode(id: bigint): string;
  /** @throws SnowflakeError ID_INVALID; the message names the bad character or the overflow. */
  decode(text: string): bigint;
}

/** The digits of a base. */
export interface Base {
  /** One ASCII character per digit, zero first; as many as the base is large. */
  readonly alphabet: string;
  /** Read upper and lower case alike. */
  readonly anyCase?: boolean;
  /** Further characters that are read as a digit: `{ O: '0' }`. */
  readonly readAs?: Readonly<Record<string, string>>;
}

const ID_BITS = 63;
const WORD = 2 ** 32;
/** The high word has 31 bits; the sign bit of a signed 64-bit integer stays 0. */
const HIGH_MAX = 2 ** 31 - 1;
/** A high word below this and the low word are together one exact double. */
const EXACT_HIGH = 2 ** 21;
/** A number below this times any base, plus a digit, is still an exact double. */
const EXACT_STEP = 2 ** 46;
/** The digits that JavaScript itself writes; for them nothing is faster than toString. */
const NATIVE_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
/** A message shows this much of a text, enough for every form of an id. */
const QUOTE_LENGTH = 40;

const scratch = new IdWords();

export class RadixForm implements TextForm {
  private readonly radix: number;
  private readonly zero: string;
  /** The digits of 2^63 - 1, the longest id. */
  private readonly width: number;
  private readonly digitOf: Int8Array;
  private readonly isNative: boolean;
  /** Every two digits in a row, made on first use: half the divisions of single digits. */
  private pairs: readonly string[] | undefined;

  constructor(
    readonly name: string,
    private readonly base: Base,
    /** Fill up with zero digits to the width of the longest id. */
    private readonly isFixedWidth: boolean,
  ) {
    this.radix = base.alphabet.length;
    this.zero = base.alphabet[0]!;
    this.width = Math.ceil(ID_BITS / Math.log2(this.radix));
    this.digitOf = readingTable(base);
    this.isNative = NATIVE_DIGITS.startsWith(base.alphabet);
  }

  encode(id: bigint): string {
    const text = this.isNative ? checkedId(id).toString(this.radix) : this.divided(checkedId(id));
    return this.isFixedWidth ? text.padStart(this.width, this.zero) : text;
  }

  decode(text: string): bigint {
    if (typeof text !== 'string' || !this.isSpelling(text)) throw this.refusal(text);
    let at = 0;
    let low = 0;
    for (; at < text.length && low < EXACT_STEP; at++)
      low = low * this.radix + this.digitAt(text, at);
    let high = Math.floor(low / WORD);
    low -= high * WORD;
    for (; at < text.length; at++) {
      low = low * this.radix + this.digitAt(text, at);
      const carry = Math.floor(low / WORD);
      high = high * this.radix + carry;
      low -= carry * WORD;
    }
    if (high > HIGH_MAX) throw this.refusal(text);
    scratch.set(high, low);
    return scratch.id;
  }

  /** Long division by the square of the base: the high word first, then one exact number. */
  private divided(id: bigint): string {
    const pairs = (this.pairs ??= pairsOf(this.base.alphabet));
    scratch.id = id;
    let { high, low } = scratch;
    let text = '';
    while (high >= EXACT_HIGH) {
      const nextHigh = Math.floor(high / pairs.length);
      const part = (high - nextHigh * pairs.length) * WORD + low;
      high = nextHigh;
      low = Math.floor(part / pairs.length);
      text = pairs[part - low * pairs.length]! + text;
    }
    let rest = high * WORD + low;
    do {
      const next = Math.floor(rest / pairs.length);
      text = pairs[rest - next * pairs.length]! + text;
      rest = next;
    } while (rest > 0);
    return text.startsWith(this.zero) ? text.slice(1) : text;
  }

  /** Length and first digit are right; looked at before any arithmetic. */
  private isSpelling(text: string): boolean {
    if (this.isFixedWidth) return text.length === this.width;
    if (text.length === 1) return true;
    return text.length > 1 && text.length <= this.width && this.digitOf[text.charCodeAt(0)] !== 0;
  }

  private digitAt(text: string, at: number): number {
    const digit = this.digitOf[text.charCodeAt(at)] ?? -1;
    if (digit < 0) throw this.refusal(text);
    return digit;
  }

  private refusal(text: unknown): SnowflakeError {
    const fault =
      typeof text === 'string'
        ? `${quoted(text)}${this.faultOf(text)}`
        : `${shownShort(text)}. Give it the string that encode wrote.`;
    return new SnowflakeError('ID_INVALID', `Expected an id as ${this.name} text, got ${fault}`, {
      details: { form: this.name },
    });
  }

  private faultOf(text: string): string {
    if (text === '') return ', which is empty. Check that the id was sent at all.';
    // Only as far as an id can reach: the rest of a megabyte changes nothing.
    for (let at = 0; at < Math.min(text.length, this.width + 1); at++) {
      if ((this.digitOf[text.charCodeAt(at)] ?? -1) >= 0) continue;
      return (
        `, whose character ${at + 1} is ${named(text, at)}. The digits of this form are ` +
        `${this.base.alphabet}.`
      );
    }
    if (this.isFixedWidth && text.length !== this.width) {
      return (
        `, which has ${text.length} characters. This form has exactly ${this.width}, ` +
        `filled up with leading "${this.zero}".`
      );
    }
    if (!this.isFixedWidth && this.digitOf[text.charCodeAt(0)] === 0) {
      return (
        `, which begins with the zero digit. Leave it out: an id has one spelling, and ` +
        `only the sortable forms are filled up.`
      );
    }
    return (
      `, which is larger than 2^63 - 1 ("${this.encode(ID_MAX)}"). Check that nothing ` +
      `was added to the id.`
    );
  }
}

/** The id itself, once it is known to be one. */
export function checkedId(id: bigint): bigint {
  if (typeof id === 'bigint' && id >= 0n && id <= ID_MAX) return id;
  throw new SnowflakeError(
    'ID_INVALID',
    `Expected an id from 0 to ${ID_MAX}, got \`${shownShort(id)}\`. ` +
      `Ids are bigint: decode a text first; a JavaScript number cannot hold every id.`,
    { details: { value: id } },
  );
}

/** Like shown, but short for every value, and never an error of its own. */
export function shownShort(value: unknown): string {
  if (typeof value === 'string') return `${quoted(value)} (string)`;
  if (typeof value === 'bigint' && BigInt.asIntN(128, value) !== value) {
    return 'a bigint of more than 128 bits';
  }
  try {
    const text = shown(value);
    return text.length > 2 * QUOTE_LENGTH ? `${text.slice(0, QUOTE_LENGTH)}...` : text;
  } catch {
    return `a value (${typeof value})`;
  }
}

/** For each ASCII code its digit, or -1. */
function readingTable(base: Base): Int8Array {
  const table = new Int8Array(128).fill(-1);
  const spell = (character: string, digit: number) => (table[character.charCodeAt(0)] = digit);
  for (const [digit, character] of base.alphabet.split('').entries()) {
    spell(character, digit);
    if (base.anyCase) spell(character.toLowerCase(), digit);
    if (base.anyCase) spell(character.toUpperCase(), digit);
  }
  for (const [character, digit] of Object.entries(base.readAs ?? {})) {
    spell(character.toUpperCase(), base.alphabet.indexOf(digit));
    spell(character.toLowerCase(), base.alphabet.indexOf(digit));
  }
  return table;
}

function pairsOf(alphabet: string): string[] {
  const digits = alphabet.split('');
  return digits.flatMap((first) => digits.map((second) => first + second));
}

function quoted(text: string): string {
  const start = JSON.stringify(text.slice(0, QUOTE_LENGTH));
  return text.length > QUOTE_LENGTH ? `${start}... (${text.length} characters)` : start;
}

function named(text: string, at: number): string {
  return JSON.stringify(String.fromCodePoint(text.codePointAt(at)!));
}
