/**
 * An id as text in some base, both ways.
 *
 * Promise: encode and decode are inverse to each other, a text that decodes is an id, and a text
 * of any length is refused in the time of a short one. Which bases there are is left to
 * text-forms.ts; here a base is data.
 */
import { SnowflakeError } from '../../errors.js';
import { quoted, shownShort } from '../../shown.js';
import { ID_MAX, IdWords } from '../id-words.js';
import { checkedId } from './checked-id.js';
import type { TextForm } from './text-form.js';

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
    const id = this.tryDecode(text);
    if (id !== undefined) return id;
    const details = { form: this.name, value: text };
    throw new SnowflakeError('ID_INVALID', this.refusalOf(text), { details });
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string' || !this.isSpelling(text)) return undefined;
    const { radix } = this;
    let at = 0;
    let low = 0;
    for (; at < text.length && low < EXACT_STEP; at++) {
      const digit = this.digitAt(text, at);
      if (digit < 0) return undefined;
      low = low * radix + digit;
    }
    let high = Math.floor(low / WORD);
    low -= high * WORD;
    for (; at < text.length; at++) {
      const digit = this.digitAt(text, at);
      if (digit < 0) return undefined;
      low = low * radix + digit;
      const carry = Math.floor(low / WORD);
      high = high * radix + carry;
      low -= carry * WORD;
    }
    if (high > HIGH_MAX) return undefined;
    scratch.set(high, low);
    return scratch.id;
  }

  /** Why `decode` refuses a value, in its words. */
  refusalOf(text: unknown): string {
    const fault =
      typeof text === 'string'
        ? `${quoted(text)}${this.faultOf(text)}`
        : `${shownShort(text)}. Give it the string that encode wrote.`;
    return `Expected an id as ${this.name} text, got ${fault}`;
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

  /** -1 for what is no digit. */
  private digitAt(text: string, at: number): number {
    return this.digitOf[text.charCodeAt(at)] ?? -1;
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

function named(text: string, at: number): string {
  return JSON.stringify(String.fromCodePoint(text.codePointAt(at)!));
}
