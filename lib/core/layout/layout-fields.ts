/**
 * Converts a user's layout, its fields and epoch, into positioned fields and a fixed moment. Also
 * converts both into the layout's fingerprint.
 *
 * Guarantee: it reports every error in the list at once, and positions the fields of a valid list,
 * the most significant first.
 */
import { SnowflakeError } from '../../errors.js';
import { format, formatShort } from '../../messages.js';
import { refuse, unknownNames, wholeFaults } from '../../options.js';

/**
 * Name, bits and role. The names `timestamp` and `sequence` imply their roles. Any other field is
 * part of the worker ID, unless its third member is 'call': callers pass the value of such a field
 * to nextId.
 */
export type FieldSpec = readonly [name: string, bits: number, role?: 'worker' | 'call'];

/** The sign bit of a signed 64-bit integer stays 0, so databases can store IDs. */
const ID_BITS_MAX = 63;
/** 28 bits of seconds last 8.5 years; fewer bits are a mistake. */
const TIMESTAMP_BITS_MIN = 28;
/** 47 bits of milliseconds last 4,459 years, and every tick stays exact in a double. */
const TIMESTAMP_BITS_MAX = 47;
/** Counters and worker IDs are 32-bit integers with the sign bit unused. */
const FIELD_BITS_MAX = 31;
/** More than an hour per tick can only be a mistake. */
const UNIT_MS_MAX = 3_600_000;

export function fieldsFaults(specs: unknown, unitMs: unknown): string[] {
  const faults = wholeFaults('unitMs', unitMs, [1, UNIT_MS_MAX]);
  if (!Array.isArray(specs)) {
    faults.push(
      `Expected \`fields\` to be a list such as [['timestamp', 41], ...], got ${format(specs)}.`,
    );
    return faults;
  }
  for (const spec of specs) faults.push(...fieldFaults(spec));
  if (faults.length > 0) return faults;
  const names = specs.map(([name]: FieldSpec) => name);
  for (const name of ['timestamp', 'sequence']) {
    if (!names.includes(name)) faults.push(`Expected a field named \`${name}\`; there is none.`);
  }
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  for (const name of twice) faults.push(`The field \`${name}\` is named twice.`);
  const bits = specs.reduce((sum: number, spec: FieldSpec) => sum + spec[1], 0);
  if (bits > ID_BITS_MAX) {
    faults.push(
      `Expected at most ${ID_BITS_MAX} bits in all, got ${bits}; the sign bit stays free.`,
    );
  }
  return faults;
}

function fieldFaults(spec: unknown): string[] {
  if (!Array.isArray(spec) || typeof spec[0] !== 'string' || !/^[A-Za-z]\w*$/.test(spec[0])) {
    return [
      `Expected a field to be [name, bits] with a name like \`datacenter\`, got ${format(spec)}.`,
    ];
  }
  const [name, bits, role] = spec as [string, unknown, unknown];
  const isTime = name === 'timestamp';
  const min = isTime ? TIMESTAMP_BITS_MIN : 1;
  const max = isTime ? TIMESTAMP_BITS_MAX : FIELD_BITS_MAX;
  const faults: string[] = [];
  if (typeof bits !== 'number' || !Number.isInteger(bits) || bits < min || bits > max) {
    faults.push(`Expected \`${name}\` to have ${min} to ${max} bits, got ${format(bits)}.`);
  }
  if (role !== undefined && role !== 'worker' && role !== 'call') {
    faults.push(`Expected the role of \`${name}\` to be 'worker' or 'call', got ${format(role)}.`);
  }
  if (role !== undefined && (isTime || name === 'sequence')) {
    faults.push(`The field \`${name}\` is filled by the generator and takes no role.`);
  }
  return faults;
}

export function placeFields(specs: readonly FieldSpec[]): LayoutField[] {
  let shift = specs.reduce((sum, [, bits]) => sum + bits, 0);
  return specs.map(([name, bits, role = 'worker']) => {
    shift -= bits;
    const isOwn = name === 'timestamp' || name === 'sequence';
    return new LayoutField(name, isOwn ? (name as FieldRole) : role, bits, shift);
  });
}

/*
 * One field of a layout, and its position in the two 32-bit words of an ID:
 *
 *      63            32 31             0
 *     |      high      |      low      |      a field may straddle the two words
 *
 * Guarantee: values are whole numbers from 0 to `max`; no BigInt is involved.
 */

/** The source of a field's value: the clock, the counter, the lease, or the caller of nextId(). */
export type FieldRole = 'timestamp' | 'sequence' | 'worker' | 'call';

/**
 * One field of a layout: its bits in an ID, and how to read it. Values are whole numbers from 0 to
 * `max`.
 */
export class LayoutField {
  /** The largest value, inclusive. */
  readonly max: number;
  /** The number of values of the field's part in the low word. */
  private readonly lowCount: number;
  private readonly lowUnit: number;
  private readonly highUnit: number;
  /** Shifts and masks that read the field's parts in the two words. */
  private readonly lowShift: number;
  private readonly lowMask: number;
  private readonly highShift: number;
  private readonly highMask: number;

  constructor(
    readonly name: string,
    readonly role: FieldRole,
    readonly bits: number,
    /** The distance from the lowest bit of the ID to the lowest bit of the field. */
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

  /** The part of a value that belongs in the low word. */
  lowOf(value: number): number {
    return (value % this.lowCount) * this.lowUnit;
  }

  /** The part of a value that belongs in the high word. */
  highOf(value: number): number {
    return Math.floor(value / this.lowCount) * this.highUnit;
  }

  read(high: number, low: number): number {
    const lowPart = ((low >>> this.lowShift) & this.lowMask) >>> 0;
    return ((high >>> this.highShift) & this.highMask) * this.lowCount + lowPart;
  }
}

/** Returns the value if it fits its field. */
export function checkedPart(field: LayoutField, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= field.max) return value;
  throw invalidPart(field.name, field.max, value);
}

export function invalidPart(name: string, max: number, value: unknown): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected \`${name}\` to be an integer from 0 to ${max}, got ${formatShort(value)}.`,
    { details: { name, max, value } },
  );
}

/*
 * The fingerprint of a layout, for example `t41-w10-s12/1ms@1704067200000`. It lists the first
 * letter of each field's role with its bits, the most significant first. The length of a tick and
 * the epoch in Unix ms follow.
 *
 * Guarantee: two layouts with equal fingerprints have equal IDs. Field names do not count.
 */

const FINGERPRINT = /^((?:[tswc]\d{1,2}-)*[tswc]\d{1,2})\/(\d{1,7})ms@(\d{1,15})$/;
const FIELD_NAMES: Readonly<Record<string, string>> = {
  t: 'timestamp',
  s: 'sequence',
  w: 'worker',
  c: 'call',
};

/** Adjacent worker fields count as one. */
export function fingerprintOf(
  fields: readonly LayoutField[],
  unitMs: number,
  epochMs: number,
): string {
  const runs: { letter: string; bits: number }[] = [];
  for (const field of fields) {
    const letter = field.role[0]!;
    const last = runs.at(-1);
    if (letter === 'w' && last?.letter === 'w') last.bits += field.bits;
    else runs.push({ letter, bits: field.bits });
  }
  return `${runs.map((run) => run.letter + run.bits).join('-')}/${unitMs}ms@${epochMs}`;
}

/**
 * Returns the options of the layout, with fields named after their role; undefined unless the text
 * is a fingerprint. BitLayout checks that the layout is valid.
 */
export function readFingerprint(fingerprint: string) {
  const [, runs, unitMs, epochMs] = FINGERPRINT.exec(fingerprint) ?? [];
  if (runs === undefined) return undefined;
  const fields = runs.split('-').map((run, at, all): FieldSpec => {
    const [letter, bits] = [run[0]!, Number(run.slice(1))];
    const isSecond = all.findIndex((other) => other[0] === letter) < at;
    const name = FIELD_NAMES[letter]! + (isSecond ? at : '');
    return letter === 'c' ? [name, bits, 'call'] : [name, bits];
  });
  return { epoch: epochText(Number(epochMs)), unitMs: Number(unitMs), fields };
}

/*
 * The epoch is the moment from which a layout counts its ticks.
 *
 * Guarantee: a Date, an ISO string, or a number becomes a fixed number of Unix milliseconds, or a
 * message describes its error. The result never depends on "now" or on the machine's time zone.
 */

/**
 * The moment from which timestamps count: a Date, an ISO string, or Unix ms. It must not be in the
 * future.
 */
export type Epoch = Date | string | number;

/** 2024-01-01T00:00:00Z. It is part of every ID and must never change. */
export const DEFAULT_EPOCH_MS = 1_704_067_200_000;

/** The last moment that a Date can represent; only layouts with huge ticks reach it. */
export const DATE_MS_MAX = 8.64e15;

/**
 * Separates seconds from milliseconds: seconds since 1970 stay below this for 3,000 years, and
 * milliseconds exceeded it after three. 0 is the same moment in both units.
 */
const MS_MIN = 1e11;

/** Accepts `2024-01-01`, or a time of day with its zone: `2024-01-01T00:00:00+08:00`. */
const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Returns the epoch in Unix ms, or an error message. */
export function readEpoch(epoch: unknown, nowMs: number): number | { readonly fault: string } {
  const isText = typeof epoch === 'string' && ISO_WITH_ZONE.test(epoch);
  const ms = isText ? Date.parse(epoch) : epoch instanceof Date ? epoch.getTime() : epoch;
  if (typeof ms !== 'number' || !Number.isSafeInteger(ms) || ms < 0) {
    return {
      fault:
        `Expected \`epoch\` to be a Date, Unix milliseconds, or ISO text with its zone such as ` +
        `"2024-01-01T00:00:00Z", got ${format(epoch)}.`,
    };
  }
  if (!isText && ms > 0 && ms < MS_MIN) {
    // The moment as a string, since some existing IDs were generated with this mistake.
    const read = new Date(ms).toISOString();
    const meant = new Date(ms * 1000).toISOString();
    return {
      fault:
        `Expected \`epoch\` in Unix milliseconds, got ${ms}, which is ${read} and seems to be in ` +
        `seconds: write ${ms * 1000}, which is ${meant}. If ids were generated from ${read} on, ` +
        `keep it by writing it as text.`,
    };
  }
  if (ms > nowMs) {
    return {
      fault:
        `Expected \`epoch\` to lie in the past, got ${new Date(ms).toISOString()}; ` +
        `the clock reads ${new Date(nowMs).toISOString()}.`,
    };
  }
  return ms;
}

/**
 * Reads the epoch in the options of a preset. It rejects misspelled options, because the default
 * epoch, used by mistake, would duplicate existing IDs.
 */
export function epochIn(
  options: { readonly epoch?: Epoch | undefined },
  byDefault?: Epoch,
  known = 'epoch',
): Epoch | undefined {
  refuse(unknownNames(options, known, 'The layout'));
  const { epoch = byDefault } = options;
  return epoch;
}

/** Writes an existing layout's epoch as a string, because a number could be read as seconds. */
export const epochText = (epochMs: number): string => new Date(epochMs).toISOString();
