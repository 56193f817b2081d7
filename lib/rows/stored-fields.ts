/**
 * The fields of a text that a store keeps. It is JSON of ours, but somebody else may have written
 * into it.
 */
import { isDecimalId } from '../core/text/decimal.js';
import { cutName } from '../messages.js';
import type { HolderLabel } from '../time/process-identity.js';

/** None of what is no JSON, or no object. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** True where all of these are texts, and all of those whole numbers. */
export function isWhole(
  fields: Readonly<Record<string, unknown>>,
  texts: readonly string[],
  numbers: readonly string[],
): boolean {
  return (
    texts.every((name) => typeof fields[name] === 'string') &&
    numbers.every((name) => Number.isSafeInteger(fields[name]))
  );
}

/** A position, a token or an amount as decimal text; undefined for what is none of ours. */
export function numberIn(text: unknown): bigint | undefined {
  return typeof text === 'string' && isDecimalId(text) ? BigInt(text) : undefined;
}

/*
 * A holder's label as it is read back, for people.
 *
 * Guarantee: whatever somebody else wrote, there is a label, and its parts are short enough for a
 * table.
 */

const UNREADABLE = '(unreadable)';

export function labelOf(value: unknown): HolderLabel {
  const { host, pid, application } = Object(value) as Record<keyof HolderLabel, unknown>;
  return {
    host: nameOf(host),
    pid: Number.isSafeInteger(pid) ? (pid as number) : 0,
    application: nameOf(application),
  };
}

const nameOf = (part: unknown): string => (typeof part === 'string' ? cutName(part) : UNREADABLE);
