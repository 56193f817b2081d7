/**
 * What is wrong with options and requests, one sentence for each fault, in the same words wherever
 * they are given.
 *
 * Promise: no store, client or name is shown; each may hold a password, or go on with one.
 */
import { SnowflakeError } from './errors.js';
import { shown } from './shown.js';

const NAME = /^[^\s\p{C}|]{1,128}$/u;

/** The names of options that there are not. @param known those of `whose`, separated by commas */
export function unknownNames(options: object, known: string, whose: string): string[] {
  return Object.keys(options)
    .filter((name) => !known.split(', ').includes(name))
    .map((name) => `${whose} has no option \`${name}\`. Its options are ${known}.`);
}

/** The name of a counter or a lock. */
export function nameFaults(option: string, value: unknown): string[] {
  if (typeof value === 'string' && NAME.test(value)) return [];
  const got = typeof value === 'string' ? `a text of ${value.length}` : typeof value;
  return [`Expected \`${option}\` to be 1 to 128 characters without spaces or |, got ${got}.`];
}

export function wholeFaults(
  option: string,
  value: unknown,
  [min, max]: readonly [min: number, max: number],
): string[] {
  const isWhole = typeof value === 'number' && Number.isInteger(value);
  if (isWhole && value >= min && value <= max) return [];
  return [`Expected \`${option}\` to be an integer from ${min} to ${max}, got ${shown(value)}.`];
}

export function refused(faults: readonly string[], before = ''): SnowflakeError {
  const message = `${before}${faults.join(' ')}`;
  return new SnowflakeError('CONFIG_INVALID', message, { details: { faults } });
}
