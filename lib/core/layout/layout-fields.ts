/**
 * From the list of fields a user writes to fields with a place in the id.
 *
 * Promise: every fault of the list is found and worded, all at once; a list without faults is
 * placed from the most significant bit down.
 */
import { shown } from '../../shown.js';
import { LayoutField, type FieldRole } from './layout-field.js';

/**
 * Name, bits and who fills it. `timestamp` and `sequence` have their roles by name; any other
 * field is part of the worker id unless its third member is 'call' (given to nextId).
 */
export type FieldSpec = readonly [name: string, bits: number, role?: 'worker' | 'call'];

/** The sign bit of a signed 64-bit integer, as databases have it, stays 0. */
const ID_BITS_MAX = 63;
/** 28 bits of seconds last 8.5 years; less is a mistake. */
const TIMESTAMP_BITS_MIN = 28;
/** 47 bits of milliseconds last 4,459 years, and every tick stays exact in a double. */
const TIMESTAMP_BITS_MAX = 47;
/** Counters and worker ids are 32-bit integers with their sign unused. */
const FIELD_BITS_MAX = 31;
/** An hour per tick is already stranger than anybody's need. */
const UNIT_MS_MAX = 3_600_000;

export function fieldsFaults(specs: unknown, unitMs: unknown): string[] {
  const faults: string[] = [];
  if (
    typeof unitMs !== 'number' ||
    !(Number.isInteger(unitMs) && unitMs >= 1) ||
    unitMs > UNIT_MS_MAX
  ) {
    faults.push(
      `Expected \`unitMs\` to be an integer from 1 to ${UNIT_MS_MAX}, got ${shown(unitMs)}.`,
    );
  }
  if (!Array.isArray(specs)) {
    faults.push(
      `Expected \`fields\` to be a list such as [['timestamp', 41], ...], got ${shown(specs)}.`,
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
      `Expected a field to be [name, bits] with a name like \`datacenter\`, got ${shown(spec)}.`,
    ];
  }
  const [name, bits, role] = spec as [string, unknown, unknown];
  const isTime = name === 'timestamp';
  const min = isTime ? TIMESTAMP_BITS_MIN : 1;
  const max = isTime ? TIMESTAMP_BITS_MAX : FIELD_BITS_MAX;
  const faults: string[] = [];
  if (typeof bits !== 'number' || !Number.isInteger(bits) || bits < min || bits > max) {
    faults.push(`Expected \`${name}\` to have ${min} to ${max} bits, got ${shown(bits)}.`);
  }
  if (role !== undefined && role !== 'worker' && role !== 'call') {
    faults.push(`Expected the role of \`${name}\` to be 'worker' or 'call', got ${shown(role)}.`);
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
