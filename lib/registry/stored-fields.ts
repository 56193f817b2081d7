/**
 * The fields of a text that a store keeps. It is JSON of ours, but somebody else may have written
 * into it.
 */
import { isDecimalId } from '../core/text/decimal.js';

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
