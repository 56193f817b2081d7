/**
 * What a text form is: one way of writing an id as text, both ways.
 *
 * Which forms there are is in text-forms.ts.
 */

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
