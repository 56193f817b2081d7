/**
 * What the generator says when it refuses an id.
 *
 * Promise: nothing was issued when one of these is thrown.
 */
import { SnowflakeError } from '../../errors.js';
import { shown } from '../../shown.js';
import type { BitLayout } from '../layout/bit-layout.js';

export function timeExhausted(layout: BitLayout): SnowflakeError {
  return new SnowflakeError(
    'TIME_EXHAUSTED',
    `The ${layout.timestamp.bits} timestamp bits of layout ${layout.fingerprint} ended on ` +
      `${layout.lastDate.toISOString()}, so no id was made. Move to a layout with more ` +
      `timestamp bits or a later epoch.`,
  );
}

export function beforeEpoch(layout: BitLayout, nowMs: number): SnowflakeError {
  return new SnowflakeError(
    'CLOCK_UNUSABLE',
    `The clock reads ${nowMs} ms, before the epoch ${layout.epochMs} of layout ` +
      `${layout.fingerprint}, so no id was made. Set the clock of this host.`,
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

export function unknownField(layout: BitLayout, name: string): SnowflakeError {
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
    `Expected \`count\` to be an integer from 0 up, got ${shown(count)}.`,
  );
}
