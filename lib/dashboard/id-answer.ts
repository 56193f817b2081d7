/**
 * Takes an id apart for the page. What is an id, and the message if it is not, is decided by core.
 * Nothing is guessed here.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { TextForm } from '../core/text/text-form.js';
import { textForms } from '../core/text/text-forms.js';
import { isSnowflakeError } from '../errors.js';
import { printable } from '../shown.js';
import type { IdAnswer } from './answers.js';

const FORMS: Readonly<Record<string, TextForm>> = textForms;

/**
 * @param text a query may also hold a list or an object, whatever its type says
 * @param form one of the names of `textForms`
 */
export function idAnswer(layout: BitLayout, text: string, form: string): IdAnswer {
  const isForm = typeof form === 'string' && Object.hasOwn(FORMS, form);
  const reader = isForm ? FORMS[form] : undefined;
  if (reader === undefined) {
    return { problem: `Expected a text form: ${Object.keys(FORMS).join(', ')}.` };
  }
  try {
    return idView(layout, reader.decode(text));
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    // It quotes the request, which may contain anything.
    return { problem: printable(error.message) };
  }
}

function idView(layout: BitLayout, id: bigint): IdAnswer {
  const { timestampMs, workerId, sequence, fields } = layout.parse(id);
  const texts = Object.entries(FORMS).map(([name, form]) => [name, form.encode(id)] as const);
  return {
    id: String(id),
    timestampMs,
    workerId,
    sequence,
    values: fields,
    texts: Object.fromEntries(texts),
  };
}
