/**
 * A text form is one way of writing an id as text, both ways. The file text-forms.ts lists those
 * there are.
 */
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { quoted, formatShort } from '../../messages.js';

/** One way of writing an id as text, both ways. */
export interface TextForm<Text extends string = string> {
  readonly name: string;
  /**
   * A regular expression from `^` to `$` that every text of this form matches, for OpenAPI and JSON
   * Schema. A text that matches need not be an id.
   */
  readonly pattern?: string | undefined;
  /** @throws SnowflakeError ID_INVALID for anything but a bigint from 0 to 2^63 - 1. */
  encode(id: bigint): Text;
  /** @throws SnowflakeError ID_INVALID; the message names the bad character or the overflow. */
  decode(text: string): bigint;
  /**
   * Reads the id of a text, or returns undefined if `decode` refuses it. It makes no Error, so that
   * many wrong texts cost no more than many right ones.
   */
  tryDecode(text: string): bigint | undefined;
  /** Says in the words of the error why `decode` refuses a text. It makes no Error either. */
  refusalOf?(text: string): string;
}

/*
 * Refusals. Their words are separate from the error, because checks of requests need them without
 * an Error.
 */

/** Implements `decode` of a form by its `tryDecode`. */
export function decodedBy(form: TextForm, text: string): bigint {
  const id = form.tryDecode(text);
  if (id !== undefined) return id;
  const details = { form: form.name, value: text };
  throw new SnowflakeError('ID_INVALID', refusalBy(form, text), { details });
}

/** Says why a form refuses a text. The form knows best which character is wrong. */
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

/** Refuses a value that is no text; undefined for a text. */
export function notTextRefusal(form: TextForm, text: unknown): string | undefined {
  if (typeof text === 'string') return undefined;
  return (
    `Expected an id as ${form.name} text, got ${formatShort(text)}. Give it the string that ` +
    'encode wrote.'
  );
}

/*
 * A form around another form.
 *
 * Guarantee: a text without the wrapping is refused in the words of this form, a wrong text inside
 * it in the words of the inner form.
 */

/** Adds something to the texts of the inner form, and takes it off again. */
interface Wrapping<Text extends string> {
  readonly name: string;
  readonly pattern: string | undefined;
  readonly inner: TextForm;
  wrap(text: string): Text;
  /** Returns the text of the inner form, or undefined for a text that is not of this form. */
  unwrap(text: string): string | undefined;
  /** Says from a comma on why a text cannot be unwrapped. */
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

/**
 * The text of an id as a type of its own: no other string and no number can be assigned to it. A
 * name makes it the id of one kind of thing, to which ids of another kind cannot be assigned. No
 * function of this package asks for it, so plain strings work everywhere.
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
  /**
   * Only the compiler sees this property. A name, not a symbol, is the same in both module formats.
   */
  readonly 'is the id of': Kind;
};
