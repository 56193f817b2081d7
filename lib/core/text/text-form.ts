/** A text form converts IDs to text and back. The file text-forms.ts lists all forms. */
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';

/** Converts IDs to text and back. */
export interface TextForm<Text extends string = string> {
  readonly name: string;
  /**
   * A regular expression from `^` to `$` that every text of this form matches, for OpenAPI and JSON
   * Schema. A text that matches need not be an ID.
   */
  readonly pattern?: string | undefined;
  /** @throws SnowflakeError ID_INVALID unless the value is a bigint from 0 to 2^63 - 1. */
  encode(id: bigint): Text;
  /** @throws SnowflakeError ID_INVALID; the message names the bad character or the overflow. */
  decode(text: string): bigint;
  /**
   * Reads the ID of a text, or returns undefined if `decode` refuses it. It creates no Error, so
   * wrong texts cost no more than valid ones.
   */
  tryDecode(text: string): bigint | undefined;
  /** Returns the error message with which `decode` refuses a text, also without an Error. */
  refusalOf?(text: string): string;
}

/*
 * Refusals. Their messages are separate from the error, because request validation needs them
 * without an Error.
 */

/** Implements a form's `decode` on top of its `tryDecode`. */
export function decodedBy(form: TextForm, text: string): bigint {
  const id = form.tryDecode(text);
  if (id !== undefined) return id;
  const details = { form: form.name, value: text };
  throw new SnowflakeError('ID_INVALID', refusalBy(form, text), { details });
}

/** Returns the reason why a form refuses a text. The form itself names the wrong character. */
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

/** Returns an error for a value that is not a string; undefined for a string. */
export function notTextRefusal(form: TextForm, text: unknown): string | undefined {
  if (typeof text === 'string') return undefined;
  return (
    `Expected an id as ${form.name} text, got ${formatShort(text)}. Give it the string that ` +
    'encode wrote.'
  );
}

/**
 * A branded string type for IDs: other strings and numbers are not assignable to it. A name brands
 * it for one kind of entity, so IDs of other kinds are not assignable. No function in this package
 * requires it, so plain strings work everywhere.
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
   * Only the compiler sees this property. A string name, unlike a symbol, is the same in both
   * module formats.
   */
  readonly 'is the id of': Kind;
};
