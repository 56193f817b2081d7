/**
 * Finds the worker IDs that a process may hold if its configuration fixes some worker fields.
 *
 * Guarantee: the worker IDs are contiguous, so a registry can lease them without information about
 * the fields.
 */
import { format } from '../../messages.js';
import { refuse, refused, wholeFaults } from '../../options.js';
import type { BitLayout } from './bit-layout.js';

/** Both ends are inclusive. */
export interface WorkerIdRange {
  readonly min: number;
  readonly max: number;
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function workerIdRangeOf(
  layout: BitLayout,
  fixed: Readonly<Record<string, number>> = {},
): WorkerIdRange {
  // A list, a function, or a class instance has keys that are not field names.
  const isObject = typeof fixed === 'object' && fixed !== null;
  const prototype: unknown = isObject ? Object.getPrototypeOf(fixed) : Object;
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const got = `got ${format(fixed)}`;
    throw refused([`Expected \`workerFields\` to be numbers by name, { room: 1 }, ${got}.`]);
  }
  const names = layout.workerFields.map((field) => field.name);
  const known = names.join(', ') || 'none';
  const faults = Object.keys(fixed)
    .filter((name) => !names.includes(name))
    .map((name) => `\`workerFields.${name}\` is none of the worker fields, which are ${known}.`);
  let min = 0;
  let count = layout.workerIdMax + 1;
  let isFree = false;
  for (const { name, bits, max } of layout.workerFields) {
    const value = Object.hasOwn(fixed, name) ? fixed[name] : undefined;
    if (value === undefined) {
      isFree = true;
      continue;
    }
    if (isFree) {
      faults.push(
        `\`workerFields.${name}\` is fixed but a field before it is not; fix that one too.`,
      );
    } else {
      faults.push(...wholeFaults(`workerFields.${name}`, value, [0, max]));
    }
    count /= 2 ** bits;
    min += value * count;
  }
  refuse(faults);
  return { min, max: min + count - 1 };
}

/** The fixed worker fields as one number, which is the highest bits of the worker ID. */
export interface RegionNumber {
  readonly number: number;
  /** Their bit count; 0 without fixed fields. */
  readonly bits: number;
}

export function regionOf(layout: BitLayout, { min, max }: WorkerIdRange): RegionNumber {
  const count = max - min + 1;
  return { number: min / count, bits: Math.log2((layout.workerIdMax + 1) / count) };
}
