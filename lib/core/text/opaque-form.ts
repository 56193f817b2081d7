/**
 * A public id as text: an id is encrypted as one block of 64 bits and written in base 58.
 *
 * Promise: every id has one text for each key, a text that decodes is an id, a wrong text of any
 * length is refused in the time of a short one, and neither JSON nor inspection shows a key. What
 * keys and prefixes may be is left to public-ids.ts.
 */
import { quoted } from '../../shown.js';
import { IdWords } from '../id-words.js';
import { checkedId } from './checked-id.js';
import { RadixDigits } from './radix-digits.js';
import { decodedBy, notTextRefusal } from './refusal.js';
import type { Speck64 } from './speck.js';
import type { TextForm } from './text-form.js';
import { BASE_58 } from './text-forms.js';

/** The text of a public id: `PublicId<'ord'>` is `ord_${string}`. */
export type PublicId<Prefix extends string = string> = `${Prefix}_${string}`;

/** Any text from outside; but of the texts that the compiler knows only those of this prefix. */
type Readable<Text extends string, Prefix extends string> = string extends Text
  ? Text
  : PublicId<Prefix>;

/** The form of the public ids of one kind of thing. */
export interface PublicIds<Prefix extends string = string> extends TextForm<PublicId<Prefix>> {
  readonly prefix: Prefix;
  readonly pattern: string;
  /**
   * @throws SnowflakeError ID_INVALID for another prefix, length or alphabet, for a number above
   * 2^64 - 1, and for what this key did not write, as far as that can be seen.
   */
  decode<Text extends string>(text: Text & Readable<Text, Prefix>): bigint;
  tryDecode<Text extends string>(text: Text & Readable<Text, Prefix>): bigint | undefined;
  /** True for what `decode` reads. */
  is(value: unknown): value is PublicId<Prefix>;
}

const BLOCK_BITS = 64;
const HIGH_MAX = 2 ** 31 - 1;

/** 58^11 is more than 2^64, so base 58 needs no more characters than base 62. */
const digits = new RadixDigits(BASE_58);
const WIDTH = digits.widthOf(BLOCK_BITS);
const scratch = new IdWords();

export class OpaqueForm<Prefix extends string> implements PublicIds<Prefix> {
  readonly name: string;
  readonly prefix: Prefix;
  readonly pattern: string;
  /** What new texts begin with. */
  readonly #head: PublicId<Prefix>;
  readonly #writer: Speck64;
  /** By letter; '' is the first key. */
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

/** The letters as a part of a regular expression; none for the first key. */
function letterClass(ciphers: ReadonlyMap<string, Speck64>): string {
  const letters = [...ciphers.keys()].join('');
  if (letters === '') return '';
  return ciphers.has('') ? `[${letters}]?` : `[${letters}]`;
}
