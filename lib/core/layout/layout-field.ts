/**
 * One field of a layout, and where its bits lie in the two 32-bit words of an id:
 *
 *      63            32 31             0
 *     |      high      |      low      |      a field may straddle the two words
 *
 * Promise: values are whole numbers from 0 to `max`; no BigInt is touched.
 */
import { SnowflakeError } from '../../errors.js';
import { shownShort } from '../../shown.js';

/** What fills a field: the clock, the counter, the lease, or the caller of nextId(). */
export type FieldRole = 'timestamp' | 'sequence' | 'worker' | 'call';

/**
 * One field of a layout: which bits of an id it has, and how to read it. Values are whole numbers
 * from 0 to `max`.
 */
export class LayoutField {
  /** The largest value, inclusive. */
  readonly max: number;
  /** How many different values fit in the part of this field that lies in the low word. */
  private readonly lowCount: number;
  private readonly lowUnit: number;
  private readonly highUnit: number;
  /** Shifts and masks of the parts of the field in the two words, for reading it. */
  private readonly lowShift: number;
  private readonly lowMask: number;
  private readonly highShift: number;
  private readonly highMask: number;

  constructor(
    readonly name: string,
    readonly role: FieldRole,
    readonly bits: number,
    /** How far the field's lowest bit lies from the lowest bit of the id. */
    readonly shift: number,
  ) {
    const lowBits = Math.max(0, Math.min(bits, 32 - shift));
    this.max = 2 ** bits - 1;
    this.lowCount = 2 ** lowBits;
    this.lowUnit = 2 ** Math.min(shift, 32);
    this.highUnit = 2 ** Math.max(0, shift - 32);
    this.lowShift = Math.min(shift, 31);
    this.lowMask = 2 ** lowBits - 1;
    this.highShift = Math.max(0, shift - 32);
    this.highMask = 2 ** (bits - lowBits) - 1;
  }

  /** What this value adds to the low word. */
  lowOf(value: number): number {
    return (value % this.lowCount) * this.lowUnit;
  }

  /** What this value adds to the high word. */
  highOf(value: number): number {
    return Math.floor(value / this.lowCount) * this.highUnit;
  }

  read(high: number, low: number): number {
    const lowPart = ((low >>> this.lowShift) & this.lowMask) >>> 0;
    return ((high >>> this.highShift) & this.highMask) * this.lowCount + lowPart;
  }
}

/** The value, if it fits its field. */
export function checkedPart(field: LayoutField, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= field.max) return value;
  throw invalidPart(field.name, field.max, value);
}

export function invalidPart(name: string, max: number, value: unknown): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected \`${name}\` to be an integer from 0 to ${max}, got ${shownShort(value)}.`,
    { details: { name, max, value } },
  );
}
