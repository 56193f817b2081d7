/**
 * The ids of a span of time, for `WHERE id BETWEEN first AND last`.
 *
 * Promise: every id whose tick touches the span lies in it, and no other id of the layout does.
 */
import { SnowflakeError } from '../../errors.js';
import { shown } from '../../shown.js';
import type { LayoutField } from './layout-field.js';

/** Both inclusive; empty where `first` is greater than `last`. */
export interface IdSpan {
  readonly first: bigint;
  readonly last: bigint;
}

const EMPTY: IdSpan = { first: 1n, last: 0n };

/**
 * @throws SnowflakeError ARGUMENT_INVALID for an invalid Date, or fields that do not begin with
 * time
 */
export function idSpan(
  fields: readonly LayoutField[],
  from: Date,
  to: Date,
  tickOf: (ms: number) => number,
): IdSpan {
  const [timestamp] = fields;
  if (timestamp?.role !== 'timestamp') throw notInOrderOfTime(fields);
  const first = Math.max(0, tickOf(checkedDate('from', from)));
  const last = Math.min(timestamp.max, tickOf(checkedDate('to', to)));
  if (first > last) return EMPTY;
  const tick = 2n ** BigInt(timestamp.shift);
  return { first: BigInt(first) * tick, last: (BigInt(last) + 1n) * tick - 1n };
}

function checkedDate(name: string, date: Date): number {
  if (date instanceof Date && !Number.isNaN(date.getTime())) return date.getTime();
  throw new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected \`${name}\` to be a valid Date, got ${shown(date)}.`,
  );
}

function notInOrderOfTime([first]: readonly LayoutField[]): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    `A span of time is not one range of ids in a layout whose first field is ` +
      `\`${first!.name}\`. Query each value of that field by itself.`,
  );
}
