/**
 * A counter and the moment it was written in as the text that a store keeps, and back.
 *
 * Promise: what cannot be read is refused, never taken for a counter that begins.
 */
import { SnowflakeError } from '../errors.js';
import type { CounterHeader, CounterRow } from './counter-slice.js';
import type { KeyedRow } from '../registry/keyed-rows.js';
import { fieldsIn, isWhole, numberIn } from '../registry/stored-fields.js';

/** Of the protocol. A counter that is kept by another one is left alone. */
const VERSION = '1';

export interface CounterOfRow {
  readonly header: CounterHeader;
  readonly row: CounterRow;
}

export function counterText(header: CounterHeader, row: CounterRow): string {
  const { next: _, margin, windowCount, era, ...rest } = row;
  const amounts = { margin: String(margin), windowCount: String(windowCount), counterEra: era };
  return JSON.stringify({ version: VERSION, ...header, ...rest, ...amounts });
}

const NUMBERS = ['lastTimeMs', 'slewMs', 'era', 'counterEra', 'readyAtMs', 'windowAtMs'] as const;
const TEXTS = ['incarnation', 'server', 'form', 'grant'] as const;
const AMOUNTS = ['margin', 'windowCount'] as const;

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
export function counterOf({ number: next, text }: Omit<KeyedRow, 'key'>): CounterOfRow {
  const fields = fieldsIn(text);
  const isCounter =
    fields['version'] === VERSION &&
    isWhole(fields, TEXTS, NUMBERS) &&
    AMOUNTS.every((name) => numberIn(fields[name]) !== undefined);
  if (!isCounter || next < 0n) throw unreadable(fields['version']);
  const whole = fields as Record<(typeof NUMBERS)[number], number> &
    Record<(typeof TEXTS | typeof AMOUNTS)[number], string>;
  const { incarnation, server, lastTimeMs, slewMs, era } = whole;
  const { form, counterEra, readyAtMs, windowAtMs, grant } = whole;
  const [margin, windowCount] = [BigInt(whole.margin), BigInt(whole.windowCount)];
  return {
    header: { incarnation, server, lastTimeMs, slewMs, era },
    row: { form, next, era: counterEra, margin, readyAtMs, windowAtMs, windowCount, grant },
  };
}

function unreadable(version: unknown): SnowflakeError {
  const isOther = typeof version === 'string' && version !== VERSION;
  const message = isOther
    ? 'The counter has a protocol version that this package does not know. Nothing was changed. ' +
      'Use one version of nestjs-snowflake for it.'
    : 'The row of the counter cannot be read: somebody else wrote into it. Nothing is granted ' +
      'from it. Restore the row, or delete it and create the counter above every number in use.';
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}
