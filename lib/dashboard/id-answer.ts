/**
 * What an id says, for the page.
 *
 * Promise: core decides what is an id and words the refusal; nothing is guessed here.
 */
import type { BitLayout } from '../core/bit-layout.js';
import { textForms, type TextForm } from '../core/snowflake-text.js';
import { isSnowflakeError } from '../errors.js';
import type { IdAnswer } from './answers.js';

const FORMS: Readonly<Record<string, TextForm>> = textForms;

/** @param form one of the names of `textForms` */
export function idAnswer(layout: BitLayout, text: string, form: string): IdAnswer {
  const reader = Object.hasOwn(FORMS, form) ? FORMS[form] : undefined;
  if (reader === undefined) {
    return { problem: `Expected a form of text: ${Object.keys(FORMS).join(', ')}.` };
  }
  try {
    return idView(layout, reader.decode(text));
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    return { problem: error.message };
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
