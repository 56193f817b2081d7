/**
 * An id as text in some base, both ways.
 *
 * Promise: encode and decode are inverse to each other, a text that decodes is an id, and a text
 * of any length is refused in the time of a short one. Which bases there are is left to
 * text-forms.ts; here a base is data.
 */
import { quoted } from '../../shown.js';
import { ID_MAX, IdWords } from '../id-words.js';
import { checkedId } from './checked-id.js';
import { RadixDigits, type Base } from './radix-digits.js';
import { decodedBy, notTextRefusal } from './refusal.js';
import type { TextForm } from './text-form.js';

const ID_BITS = 63;
/** The high word has 31 bits; the sign bit of a signed 64-bit integer stays 0. */
const HIGH_MAX = 2 ** 31 - 1;
/** The digits that JavaScript itself writes; for them nothing is faster than toString. */
const NATIVE_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';

const scratch = /* @__PURE__ */ new IdWords();

export class RadixForm implements TextForm {
  private readonly digits: RadixDigits;
  /** The digits of 2^63 - 1, the longest id. */
  private readonly width: number;
  private readonly isNative: boolean;

  constructor(
    readonly name: string,
    base: Base,
    /** Fill up with zero digits to the width of the longest id. */
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
    const text = this.written(checkedId(id));
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

  /** Why `decode` refuses a value, in its words. */
  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    return (
      notText ?? `Expected an id as ${this.name} text, got ${quoted(text)}${this.faultOf(text)}`
    );
  }

  private written(id: bigint): string {
    if (this.isNative) return id.toString(this.digits.radix);
    scratch.id = id;
    return this.digits.textOf(scratch.high, scratch.low);
  }

  /** Length and first digit are right; looked at before any arithmetic. */
  private isSpelling(text: string): boolean {
    if (this.isFixedWidth) return text.length === this.width;
    if (text.length === 1) return true;
    return text.length > 1 && text.length <= this.width && this.digits.digitAt(text, 0) !== 0;
  }

  private faultOf(text: string): string {
    if (text === '') return ', which is empty. Check that the id was sent at all.';
    // Only as far as an id can reach: the rest of a megabyte changes nothing.
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
