/**
 * The fields that a call fills in, as the two words that are set in its ids.
 *
 * Promise: a field that the layout does not have, or a value that does not fit, is refused before
 * an id is spent on it.
 */
import type { BitLayout } from '../layout/bit-layout.js';
import { unknownField } from './generator-errors.js';
import { HIGH_WORD, IdWords, LOW_WORD } from '../id-words.js';
import { checkedPart } from '../layout/layout-field.js';

/** Values of a layout's call fields, by name; those left out are 0. */
export type CallFields = Readonly<Record<string, number>>;

export interface CallWords {
  readonly high: number;
  readonly low: number;
}

const NO_CALL_FIELDS: CallWords = { high: 0, low: 0 };

/** @throws SnowflakeError ARGUMENT_INVALID for an unknown field or a value that does not fit */
export function callWords(layout: BitLayout, fields: CallFields | undefined): CallWords {
  if (fields === undefined) return NO_CALL_FIELDS;
  const words = { high: 0, low: 0 };
  for (const [name, value] of Object.entries(fields)) {
    const field = layout.callFields.find((known) => known.name === name);
    if (field === undefined) throw unknownField(layout, name);
    words.high |= field.highOf(checkedPart(field, value));
    words.low |= field.lowOf(value);
  }
  return words;
}

/** The same ids with the fields of another call. */
export function withCallFields(
  layout: BitLayout,
  ids: bigint[],
  fields: CallFields | undefined,
): bigint[] {
  if (layout.callFields.length === 0 && fields === undefined) return ids;
  const call = callWords(layout, fields);
  const id = new IdWords();
  return ids.map((known) => {
    id.id = known;
    for (const field of layout.callFields) {
      id.words[HIGH_WORD]! &= ~field.highOf(field.max);
      id.words[LOW_WORD]! &= ~field.lowOf(field.max);
    }
    id.words[HIGH_WORD]! |= call.high;
    id.words[LOW_WORD]! |= call.low;
    return id.id;
  });
}
