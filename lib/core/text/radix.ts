/**
 * Converts between text in a given base and a 64-bit number in two words.
 *
 * Guarantee: no BigInt is involved, every intermediate number is an exact double, and a text of
 * more than 64 bits is refused.
 */
import { quoted } from '../../messages.js';
import { ID_MAX, IdWords } from '../id-words.js';
import { checkedId } from './decimal.js';
import { decodedBy, notTextRefusal, type TextForm } from './text-form.js';

/** The digits of a base. */
export interface Base {
  /** One ASCII letter or digit per digit, zero first; the length is the base. */
  readonly alphabet: string;
  /** True accepts both upper and lower case. */
  readonly anyCase?: boolean;
  /** Additional characters that read as a digit: `{ O: '0' }`. */
  readonly readAs?: Readonly<Record<string, string>>;
}

const WORD = 2 ** 32;
/** A high word below this and a low word fit together in one exact double. */
const EXACT_HIGH = 2 ** 21;
/** A number below this, times any base, plus a digit, is still an exact double. */
const EXACT_STEP = 2 ** 46;

export class RadixDigits {
  readonly radix: number;
  readonly alphabet: string;
  readonly zero: string;
  private readonly base: Base;
  /** The tables are built on first use, since most applications use one form of a dozen. */
  private table: Int8Array | undefined;
  /** Tables of digit pairs need half the divisions of single digits. */
  private pairs: readonly string[] | undefined;

  constructor(base: Base) {
    this.base = base;
    this.alphabet = base.alphabet;
    this.radix = base.alphabet.length;
    this.zero = base.alphabet[0]!;
  }

  private get digitOf(): Int8Array {
    return (this.table ??= readingTable(this.base));
  }

  /** The number of digits of the largest number with this many bits. */
  widthOf(bits: number): number {
    return Math.ceil(bits / Math.log2(this.radix));
  }

  /** Divides by the square of the base: first the high word, then one exact number. */
  textOf(high: number, low: number): string {
    const pairs = (this.pairs ??= pairsOf(this.alphabet));
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

  /** Reads the rest of a text into words; false for an invalid character or more than 64 bits. */
  read(text: string, from: number, words: IdWords): boolean {
    const { radix, digitOf } = this;
    let at = from;
    let low = 0;
    for (; at < text.length && low < EXACT_STEP; at++) {
      const digit = digitOf[text.charCodeAt(at)] ?? -1;
      if (digit < 0) return false;
      low = low * radix + digit;
    }
    let high = Math.floor(low / WORD);
    low -= high * WORD;
    for (; at < text.length; at++) {
      const digit = digitOf[text.charCodeAt(at)] ?? -1;
      if (digit < 0) return false;
      low = low * radix + digit;
      const carry = Math.floor(low / WORD);
      high = high * radix + carry;
      low -= carry * WORD;
    }
    words.set(high, low);
    return high < WORD;
  }

  /** Returns -1 for a character that is not a digit. */
  digitAt(text: string, at: number): number {
    return this.digitOf[text.charCodeAt(at)] ?? -1;
  }

  /** Describes which character in a part of the text is no digit. */
  strangerIn(text: string, from: number, end: number): string | undefined {
    for (let at = from; at < Math.min(text.length, end); at++) {
      if (this.digitAt(text, at) >= 0) continue;
      return (
        `, whose character ${at + 1} is ${named(text, at)}. The digits of this form are ` +
        `${this.alphabet}.`
      );
    }
    return undefined;
  }

  /** All characters that read as a digit, as a character class of a regular expression. */
  classOf(isDigit: (digit: number) => boolean): string {
    const codes = Array.from(this.digitOf, (digit, code) =>
      digit >= 0 && isDigit(digit) ? code : -1,
    );
    const spans: [first: number, last: number][] = [];
    for (const code of codes.filter((one) => one >= 0)) {
      const span = spans.at(-1);
      if (span !== undefined && span[1] === code - 1) span[1] = code;
      else spans.push([code, code]);
    }
    const text = spans.map(spanText).join('');
    if (text === '0-9') return '\\d';
    return text.length === 1 ? text : `[${text}]`;
  }
}

/** Maps each ASCII code to its digit, or -1. */
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

function named(text: string, at: number): string {
  return JSON.stringify(String.fromCodePoint(text.codePointAt(at)!));
}

function spanText([first, last]: readonly [number, number]): string {
  const [start, end] = [String.fromCharCode(first), String.fromCharCode(last)];
  if (first === last) return start;
  return last === first + 1 ? start + end : `${start}-${end}`;
}

/*
 * The form.
 *
 * Guarantee: encode and decode are inverses, and a text that decodes is an ID. Refusing a text
 * takes the same time for any length.
 */

const ID_BITS = 63;
/** The high word has 31 bits; the sign bit of a signed 64-bit integer stays 0. */
const HIGH_MAX = 2 ** 31 - 1;
/** JavaScript's own toString writes these digits, and it is the fastest. */
const NATIVE_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';

const scratch = /* @__PURE__ */ new IdWords();

export class RadixForm implements TextForm {
  private readonly digits: RadixDigits;
  /** The number of digits of 2^63 - 1, the longest ID. */
  private readonly width: number;
  private readonly isNative: boolean;

  constructor(
    readonly name: string,
    base: Base,
    /** True pads with zero digits to the width of the longest ID. */
    private readonly isFixedWidth: boolean,
  ) {
    this.digits = new RadixDigits(base);
    this.width = this.digits.widthOf(ID_BITS);
    this.isNative = NATIVE_DIGITS.startsWith(base.alphabet);
  }

  get pattern(): string {
    const { digits, width } = this;
    const any = digits.classOf(() => true);
    if (this.isFixedWidth) return `^${any}{${width}}$`;
    const zero = digits.classOf((digit) => digit === 0);
    const first = digits.classOf((digit) => digit > 0);
    return `^(${zero}|${first}${any}{0,${width - 1}})$`;
  }

  encode(id: bigint): string {
    const text = this.write(checkedId(id));
    return this.isFixedWidth ? text.padStart(this.width, this.digits.zero) : text;
  }

  decode(text: string): bigint {
    return decodedBy(this, text);
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string' || !this.isSpelling(text)) return undefined;
    if (!this.digits.read(text, 0, scratch) || scratch.high > HIGH_MAX) return undefined;
    return scratch.id;
  }

  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    return (
      notText ?? `Expected an id as ${this.name} text, got ${quoted(text)}${this.faultOf(text)}`
    );
  }

  private write(id: bigint): string {
    if (this.isNative) return id.toString(this.digits.radix);
    scratch.id = id;
    return this.digits.textOf(scratch.high, scratch.low);
  }

  /** Checks the length and the first digit before any arithmetic. */
  private isSpelling(text: string): boolean {
    if (this.isFixedWidth) return text.length === this.width;
    if (text.length === 1) return true;
    return text.length > 1 && text.length <= this.width && this.digits.digitAt(text, 0) !== 0;
  }

  private faultOf(text: string): string {
    if (text === '') return ', which is empty. Check that the id was sent at all.';
    // The rest of a huge text cannot change the result.
    const stranger = this.digits.strangerIn(text, 0, this.width + 1);
    if (stranger !== undefined) return stranger;
    const { zero } = this.digits;
    if (this.isFixedWidth && text.length !== this.width) {
      return (
        `, which has ${text.length} characters. This form has exactly ${this.width}, ` +
        `filled up with leading "${zero}".`
      );
    }
    if (!this.isFixedWidth && this.digits.digitAt(text, 0) === 0) {
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
