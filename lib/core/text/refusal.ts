/**
 * How a text form refuses a text: with one kind of error, in the words of the form.
 *
 * The words are separate from the error, because checks of requests need them without an Error.
 */
import { SnowflakeError, isSnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';
import type { TextForm } from './text-form.js';

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
  return `Expected an id as ${form.name} text, got ${shownShort(text)}.`;
}

/** The refusal of what is no text at all, or undefined for a text. */
export function notTextRefusal(form: TextForm, text: unknown): string | undefined {
  if (typeof text === 'string') return undefined;
  return (
    `Expected an id as ${form.name} text, got ${shownShort(text)}. Give it the string that ` +
    'encode wrote.'
  );
}
