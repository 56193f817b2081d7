/**
 * A layout defines the fields and bits of an ID, and the epoch and unit of its time.
 *
 * Guarantee: every constructed layout is valid (bits, roles and epoch checked), and parse and
 * compose are inverses.
 */
import { SnowflakeError } from '../../errors.js';
import { format, formatShort } from '../../messages.js';
import { refused, unknownNames } from '../../options.js';
import { systemClock, type Clock } from '../clock.js';
import { IdWords } from '../id-words.js';
import { readDecimal } from '../text/decimal.js';
import {
  DATE_MS_MAX,
  DEFAULT_EPOCH_MS,
  readEpoch,
  fingerprintOf,
  checkedPart,
  fieldsFaults,
  invalidPart,
  LayoutField,
  placeFields,
  type Epoch,
  type FieldSpec,
} from './layout-fields.js';

/**
 * The epoch, the length of a tick and the fields. All of them are part of every ID and must never
 * change.
 */
export interface BitLayoutOptions {
  /**
   * The moment that time is counted from. Default 2024-01-01T00:00:00Z; Never change it once IDs
   * exist.
   */
  readonly epoch?: Epoch | undefined;
  /** Length of one tick of the timestamp in milliseconds. Default 1. */
  readonly unitMs?: number | undefined;
  /** The fields, the most significant first; together at most 63 bits. */
  readonly fields: readonly FieldSpec[];
}

/** The parts of an ID. */
export interface SnowflakeParts {
  /** The first millisecond of the ID's tick, Unix time. */
  readonly timestampMs: number;
  readonly date: Date;
  /** All worker fields combined into one number. */
  readonly workerId: number;
  readonly sequence: number;
  /** Every field by its name. */
  readonly fields: Readonly<Record<string, number>>;
}

/** The parts of an ID to compose. Omitted parts are 0. */
export interface ComposeParts {
  readonly timestampMs: number;
  readonly workerId?: number | undefined;
  readonly sequence?: number | undefined;
  /** Values of call fields, and of worker fields if `workerId` is not given. */
  readonly fields?: Readonly<Record<string, number>> | undefined;
}

const DAY_MS = 86_400_000;
/** Five years leave enough time to move every table to a wider layout. */
const WARNING_MS = 5 * 365.25 * DAY_MS;

/**
 * Defines the bits of an ID.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error: more than 63 bits, less than 28 bits of
 * time, a duplicate field, an epoch in the future.
 * @example
 * ```ts
 * import { BitLayout } from 'nestjs-snowflake/core';
 *
 * const layout = new BitLayout({
 *   epoch: '2024-01-01T00:00:00Z',
 *   fields: [
 *     ['timestamp', 39],
 *     ['room', 2],
 *     ['machine', 7],
 *     ['business', 4, 'call'],
 *     ['sequence', 7],
 *   ],
 * });
 * const id = layout.compose({ timestampMs: Date.parse('2026-03-01T00:00:00Z'), workerId: 300 });
 * layout.parse(id).fields.room; // 2
 * ```
 */
export class BitLayout {
  readonly epochMs: number;
  readonly unitMs: number;
  readonly fields: readonly LayoutField[];
  readonly timestamp: LayoutField;
  readonly sequence: LayoutField;
  readonly workerFields: readonly LayoutField[];
  readonly callFields: readonly LayoutField[];
  readonly totalBits: number;
  /** The largest ID, inclusive. */
  readonly idMax: bigint;
  /** The largest worker ID, inclusive: 1023 for 10 bits. */
  readonly workerIdMax: number;
  /** Bits, unit, and epoch as a short string; layouts with equal fingerprints share an ID space. */
  readonly fingerprint: string;
  private readonly words = new IdWords();
  /** A literal with constant names takes half the time of one with names that vary. */
  private readonly isUsual: boolean;
  /** The number of values that each word of an ID has. */
  private readonly highCount: number;
  private readonly lowCount: number;

  constructor(
    private readonly options: BitLayoutOptions,
    clock: Clock = systemClock,
  ) {
    const faults = unknownNames(options, 'epoch, unitMs, fields', 'A layout');
    const { epoch = DEFAULT_EPOCH_MS, unitMs = 1 } = options;
    const epochMs = readEpoch(epoch, clock.now());
    faults.push(...fieldsFaults(options.fields, unitMs));
    if (typeof epochMs !== 'number') faults.push(epochMs.fault);
    if (typeof epochMs !== 'number' || faults.length > 0) {
      throw refused(faults, 'The layout is not sound. ');
    }
    this.epochMs = epochMs;
    this.unitMs = unitMs;
    this.fields = placeFields(options.fields);
    const usualNames = this.fields.map(({ name, role }) => name === role && name);
    this.isUsual = usualNames.join() === 'timestamp,worker,sequence';
    this.timestamp = this.fields.find((field) => field.role === 'timestamp')!;
    this.sequence = this.fields.find((field) => field.role === 'sequence')!;
    this.workerFields = this.fields.filter((field) => field.role === 'worker');
    this.callFields = this.fields.filter((field) => field.role === 'call');
    this.totalBits = this.fields.reduce((sum, field) => sum + field.bits, 0);
    this.highCount = 2 ** Math.max(0, this.totalBits - 32);
    this.lowCount = 2 ** Math.min(32, this.totalBits);
    this.idMax = 2n ** BigInt(this.totalBits) - 1n;
    this.workerIdMax = this.workerFields.reduce((count, f) => count * 2 ** f.bits, 1) - 1;
    this.fingerprint = fingerprintOf(this.fields, unitMs, epochMs);
  }

  /**
   * Returns a layout with the same bits and another epoch.
   * @throws SnowflakeError CONFIG_INVALID for an epoch in the future or an unreadable one.
   */
  withEpoch(epoch: Epoch): BitLayout {
    return new BitLayout({ ...this.options, epoch });
  }

  /** The lifetime of the layout, ms from the epoch. */
  get lifetimeMs(): number {
    return (this.timestamp.max + 1) * this.unitMs;
  }

  /** The number of IDs one worker can generate in a second, rounded down. */
  get idsPerSecond(): number {
    return Math.floor(((this.sequence.max + 1) * 1000) / this.unitMs);
  }

  /** The last millisecond that an ID can carry. */
  get lastDate(): Date {
    return new Date(Math.min(DATE_MS_MAX, this.epochMs + this.lifetimeMs - 1));
  }

  /** A warning for the operator during the last five years; undefined before. */
  warningAt(nowMs: number): string | undefined {
    const leftMs = this.epochMs + this.lifetimeMs - nowMs;
    if (leftMs > WARNING_MS) return undefined;
    const days = Math.max(0, Math.floor(leftMs / DAY_MS));
    return (
      `The timestamp of this layout (${this.fingerprint}) runs out on ` +
      `${this.lastDate.toISOString()}, in ${days} days; after it no id can be made. ` +
      `Plan the move to a layout with more timestamp bits or a later epoch.`
    );
  }

  /** Whole ticks from the epoch to a time in Unix ms; negative before the epoch. */
  tickOf(ms: number): number {
    return Math.floor((ms - this.epochMs) / this.unitMs);
  }

  /** The first millisecond of a tick, Unix ms. */
  msOf(tick: number): number {
    return this.epochMs + tick * this.unitMs;
  }

  /**
   * Splits an ID into its parts.
   * @throws SnowflakeError ID_INVALID for a value that is not an ID of this layout.
   */
  parse(id: bigint | string): SnowflakeParts {
    const { high, low } = this.read(id);
    const timestamp = this.timestamp.read(high, low);
    const sequence = this.sequence.read(high, low);
    const timestampMs = this.msOf(timestamp);
    const date = new Date(timestampMs);
    if (this.isUsual) {
      const worker = this.workerFields[0]!.read(high, low);
      const fields = { timestamp, worker, sequence };
      return { timestampMs, date, workerId: worker, sequence, fields };
    }
    let workerId = 0;
    const fields: Record<string, number> = {};
    for (const field of this.fields) {
      const value = (fields[field.name] = field.read(high, low));
      if (field.role === 'worker') workerId = workerId * (field.max + 1) + value;
    }
    return { timestampMs, date, workerId, sequence, fields };
  }

  /**
   * Reads only the time of an ID, Unix ms; about four times as fast as parse().
   * @throws SnowflakeError ID_INVALID for a value that is not an ID of this layout.
   */
  timestampMsOf(id: bigint | string): number {
    const { high, low } = this.read(id);
    return this.msOf(this.timestamp.read(high, low));
  }

  /**
   * Composes an ID from its parts; the inverse of parse.
   * @throws SnowflakeError ARGUMENT_INVALID for a part that does not fit its field.
   */
  compose(parts: ComposeParts): bigint {
    const given = parts.fields ?? {};
    const workerId = parts.workerId ?? this.workerIdOf(given);
    const values = { ...given, ...this.workerParts(workerId) };
    values[this.timestamp.name] = this.tickOf(parts.timestampMs);
    values[this.sequence.name] = parts.sequence ?? 0;
    let high = 0;
    let low = 0;
    for (const field of this.fields) {
      const value = checkedPart(field, values[field.name] ?? 0);
      high += field.highOf(value);
      low += field.lowOf(value);
    }
    this.words.set(high, low);
    return this.words.id;
  }

  /**
   * Combines the worker fields into one number, the first field highest. Omitted fields are 0.
   * @throws SnowflakeError ARGUMENT_INVALID for a value that does not fit its field.
   */
  workerIdOf(fields: Readonly<Record<string, number>>): number {
    return this.workerFields.reduce(
      (id, field) => id * 2 ** field.bits + checkedPart(field, fields[field.name] ?? 0),
      0,
    );
  }

  /**
   * Splits a worker ID into the worker fields; the inverse of workerIdOf.
   * @throws SnowflakeError ARGUMENT_INVALID unless the value is an integer from 0 to `workerIdMax`.
   */
  workerParts(workerId: number): Record<string, number> {
    if (!Number.isInteger(workerId) || workerId < 0 || workerId > this.workerIdMax) {
      throw invalidPart('workerId', this.workerIdMax, workerId);
    }
    const parts: Record<string, number> = {};
    let rest = workerId;
    for (const field of this.workerFields.toReversed()) {
      parts[field.name] = rest % 2 ** field.bits;
      rest = Math.floor(rest / 2 ** field.bits);
    }
    return parts;
  }

  /** The bits of a worker ID in the two words of an ID. */
  workerWords(workerId: number): { readonly high: number; readonly low: number } {
    const parts = this.workerParts(workerId);
    const words = { high: 0, low: 0 };
    for (const field of this.workerFields) {
      words.high += field.highOf(parts[field.name]!);
      words.low += field.lowOf(parts[field.name]!);
    }
    return words;
  }

  /**
   * Returns the smallest and largest ID of a time span, both dates inclusive, for `WHERE id BETWEEN
   * first AND last`. A span entirely outside the layout's lifetime gives the empty range 1 to 0.
   * @throws SnowflakeError ARGUMENT_INVALID for an invalid Date, or on a layout whose first field
   * is not the time.
   */
  idRange(from: Date, to: Date): IdSpan {
    const { name, role, max, shift } = this.fields[0]!;
    if (role !== 'timestamp') {
      throw new SnowflakeError(
        'ARGUMENT_INVALID',
        `A span of time is not one range of ids in a layout whose first field is \`${name}\`. ` +
          `Query each value of that field by itself.`,
      );
    }
    // Exactly the IDs whose tick overlaps the span.
    const first = Math.max(0, this.tickOf(checkedDate('from', from)));
    const last = Math.min(max, this.tickOf(checkedDate('to', to)));
    if (first > last) return { first: 1n, last: 0n };
    const tick = 2n ** BigInt(shift);
    return { first: BigInt(first) * tick, last: (BigInt(last) + 1n) * tick - 1n };
  }

  private read(id: bigint | string): IdWords {
    const { words } = this;
    if (typeof id === 'bigint' && id >= 0n && id <= this.idMax) {
      words.id = id;
      return words;
    }
    const isText = typeof id === 'string' && readDecimal(id, words);
    if (isText && words.high < this.highCount && words.low < this.lowCount) return words;
    throw this.notAnId(id);
  }

  private notAnId(id: unknown) {
    return new SnowflakeError(
      'ID_INVALID',
      `Expected an id of this layout, 0 to ${this.idMax} as bigint or decimal text, got ` +
        `${formatShort(id)}. A JavaScript number cannot hold every id: keep ids as text or bigint.`,
      { details: { value: id } },
    );
  }
}

/** Both ends are inclusive; the span is empty if `first` is greater than `last`. */
interface IdSpan {
  readonly first: bigint;
  readonly last: bigint;
}

function checkedDate(name: string, date: Date): number {
  if (date instanceof Date && !Number.isNaN(date.getTime())) return date.getTime();
  throw new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected \`${name}\` to be a valid Date, got ${format(date)}.`,
  );
}

/** Checks the members of a layout, since it may come from a second copy of this package. */
export function isLayout(value: unknown): value is BitLayout {
  const { fingerprint, withEpoch } = (value ?? {}) as Partial<BitLayout>;
  return typeof fingerprint === 'string' && typeof withEpoch === 'function';
}

export function layoutFaults(layout: unknown): string[] {
  if (isLayout(layout)) return [];
  return [`Expected \`layout\` to be a BitLayout, got ${format(layout)}.`];
}
