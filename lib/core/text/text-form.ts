/**
 * What a text form is: one way of writing an id as text, both ways.
 *
 * Which forms there are is in text-forms.ts.
 */
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { quoted, formatShort } from '../../messages.js';

/** One way of writing an id as text, both ways. */
export interface TextForm<Text extends string = string> {
  readonly name: string;
  /**
   * A regular expression from `^` to `$` that every text of this form matches, for OpenAPI and JSON
   * Schema. Texts that match need not be ids.
   */
  readonly pattern?: string | undefined;
  /** @throws SnowflakeError ID_INVALID for anything but a bigint from 0 to 2^63 - 1. */
  encode(id: bigint): Text;
  /** @throws SnowflakeError ID_INVALID; the message names the bad character or the overflow. */
  decode(text: string): bigint;
  /**
   * The id that a text says, or undefined for what `decode` refuses. Makes no Error, so that many
   * wrong texts cost no more than many right ones.
   */
  tryDecode(text: string): bigint | undefined;
  /** Why `decode` refuses a text, in the words of its error. Makes no Error either. */
  refusalOf?(text: string): string;
}

/*
 * How a text form refuses a text: with one kind of error, in the words of the form.
 *
 * The words are separate from the error, because checks of requests need them without an Error.
 */

/** What `decode` of a form does, given its `tryDecode`. */
export function decodedBy(form: TextForm, text: string): bigint {
  const id = form.tryDecode(text);
  if (id !== undefined) return id;
  const details = { form: form.name, value: text };
  throw new SnowflakeError('ID_INVALID', refusalBy(form, text), { details });
}

/** Why a form refuses a text. The form knows best which character is wrong. */
export function refusalBy(form: TextForm, text: string): string {
  if (form.refusalOf !== undefined) return form.refusalOf(text);
  try {
    form.decode(text);
  } catch (error) {
    if (isSnowflakeError(error)) return error.message;
    throw error;
  }
  return `Expected an id as ${form.name} text, got ${formatShort(text)}.`;
}

/** The refusal of what is no text at all, or undefined for a text. */
export function notTextRefusal(form: TextForm, text: unknown): string | undefined {
  if (typeof text === 'string') return undefined;
  return (
    `Expected an id as ${form.name} text, got ${formatShort(text)}. Give it the string that ` +
    'encode wrote.'
  );
}

/*
 * A form around another form: what it adds to the texts of the one within, and takes off again.
 *
 * Guarantee: a text that this form does not write is refused in its words, one that the form within
 * does not write in the words of that form.
 */

/** What a form does to the text of the form within it. */
interface Wrapping<Text extends string> {
  readonly name: string;
  readonly pattern: string | undefined;
  readonly inner: TextForm;
  wrap(text: string): Text;
  /** The text of the form within, or undefined for a text that is not of this form. */
  unwrap(text: string): string | undefined;
  /** What is wrong with a text that cannot be unwrapped, from a comma on. */
  faultOf(text: string): string;
}

export class WrappedForm<Text extends string> implements TextForm<Text> {
  readonly name: string;
  readonly pattern?: string;
  private readonly wrapping: Wrapping<Text>;

  constructor(wrapping: Wrapping<Text>) {
    this.name = wrapping.name;
    if (wrapping.pattern !== undefined) this.pattern = `^${wrapping.pattern}$`;
    this.wrapping = wrapping;
  }

  encode(id: bigint): Text {
    return this.wrapping.wrap(this.wrapping.inner.encode(id));
  }

  decode(text: string): bigint {
    return decodedBy(this, text);
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string') return undefined;
    const inner = this.wrapping.unwrap(text);
    return inner === undefined ? undefined : this.wrapping.inner.tryDecode(inner);
  }

  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    if (notText !== undefined) return notText;
    const start = `Expected an id as ${this.name} text, got ${quoted(text)}`;
    const within = this.wrapping.unwrap(text);
    if (within === undefined) return start + this.wrapping.faultOf(text);
    return `${start}. ${refusalBy(this.wrapping.inner, within)}`;
  }
}

/*
 * The type of the text of an id, for who wants the compiler to tell ids from other texts.
 *
 * It is a type alone: nothing asks for it, so that plain strings do everywhere in this package.
 */

/**
 * The text of an id: a string that no other string can be assigned to, and no number. With a name
 * it is that of one kind of thing, and ids of another cannot be assigned to it either.
 *
 * @example
 * ```ts
 * import { IdMaker, type SnowflakeId } from 'nestjs-snowflake';
 *
 * type OrderId = SnowflakeId<'Order'>;
 *
 * export function newOrderId(ids: IdMaker): OrderId {
 *   return ids.nextIdString() as OrderId;
 * }
 * ```
 */
export type SnowflakeId<Kind extends string = string> = string & {
  /** For the compiler; no text has it. A name, not a symbol, is one for both module formats. */
  readonly 'is the id of': Kind;
};
