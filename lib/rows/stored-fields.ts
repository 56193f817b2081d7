/**
 * The fields of a text that a store keeps. It is our JSON, but another program may have changed it.
 */
import { isDecimalId } from '../core/text/decimal.js';
import { cutName } from '../messages.js';
import type { HolderLabel } from '../time/process-identity.js';

/** Returns no fields if the text is no JSON, or no object. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** True if all `texts` are texts, and all `numbers` whole numbers. */
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

/** Reads a position, a token or an amount as decimal text; undefined for any other value. */
export function numberIn(text: unknown): bigint | undefined {
  return typeof text === 'string' && isDecimalId(text) ? BigInt(text) : undefined;
}

/*
 * Reads the label of a holder, for people.
 *
 * Guarantee: any value gives a label, and its parts are short enough for a table.
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
