/** Generates the IDs of an IdMaker at once, or throws, independently of their lease or range. */
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import { HIGH_WORD, IdWords, LOW_WORD } from '../id-words.js';
import type { BitLayout } from '../layout/bit-layout.js';
import { checkedPart } from '../layout/layout-fields.js';

export interface IdSource {
  nextId(fields?: CallFields): bigint;
  /** Generates one ID, or throws a retryable error at once if nextId() would wait for the clock. */
  nextIdAtOnce(fields?: CallFields): bigint;
  nextIdString(fields?: CallFields): string;
  nextIdNumber(fields?: CallFields): number;
  nextIds(count: number, fields?: CallFields): bigint[];
  nextIdStrings(count: number, fields?: CallFields): string[];
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void;
}

/*
 * Call fields become two words that are combined with each ID.
 *
 * Guarantee: an unknown field or a value that does not fit is refused before it uses up an ID.
 */

/** Values of a layout's call fields, by name. Omitted fields are 0. */
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

/** Replaces the call fields of IDs that were generated for another call. */
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

/* Each of these errors is thrown before an ID is generated. */

export function timeExhausted(layout: BitLayout): SnowflakeError {
  return new SnowflakeError(
    'TIME_EXHAUSTED',
    `The ${layout.timestamp.bits} timestamp bits of layout ${layout.fingerprint} ended on ` +
      `${layout.lastDate.toISOString()}, so no id was generated. Move to a layout with more ` +
      `timestamp bits or a later epoch.`,
  );
}

export function beforeEpoch(layout: BitLayout, nowMs: number): SnowflakeError {
  return new SnowflakeError(
    'CLOCK_UNUSABLE',
    `The clock reads ${nowMs} ms, before the epoch ${layout.epochMs} of layout ` +
      `${layout.fingerprint}, so no id was generated. Set the clock of this host.`,
    { details: { nowMs, epochMs: layout.epochMs } },
  );
}

export function tooWideForNumber(totalBits: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Ids of this layout have ${totalBits} bits and do not fit in a number, which holds 53. Use ` +
      `nextId(), nextIdString(), or layouts.javascriptSafe().`,
  );
}

export function numberTooLarge(): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    'The numbers of this counter have passed 2^53, beyond which a number is not exact, so none ' +
      'was made. Use nextId() or nextIdString().',
  );
}

export function noFields(name: string): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    `\`${name}\` is not a field that a call may fill: a number of a counter has no fields.`,
  );
}

function unknownField(layout: BitLayout, name: string): SnowflakeError {
  const known = layout.callFields.map((field) => `\`${field.name}\``).join(', ') || 'none';
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    `\`${name}\` is not a field that a call may fill. Call fields of layout ` +
      `${layout.fingerprint}: ${known}. Mark a field with 'call' in the layout to fill it here.`,
  );
}

export function checkedCount(count: number): number {
  if (Number.isInteger(count) && count >= 0) return count;
  throw new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected \`count\` to be an integer from 0 up, got ${format(count)}.`,
  );
}
