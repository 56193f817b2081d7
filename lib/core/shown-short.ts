/**
 * How a value that came from outside is shown in a message.
 *
 * Promise: short for every value, in the time of a short one. Of a long text, a long list, a large
 * or a deep object only what is shown is looked at; no toJSON is called, and what throws when it
 * is read makes no error of its own.
 */
import { shown } from '../errors.js';

/** Enough for every form of an id. */
const LENGTH_MAX = 40;
/** Lists and objects inside of each other beyond this are not opened. */
const DEPTH_MAX = 5;

/** Like `shown`, for values of any size. */
export function shownShort(value: unknown): string {
  if (typeof value === 'string') return `${quoted(value)} (string)`;
  if (typeof value === 'bigint' && isHuge(value)) return 'a bigint of more than 128 bits';
  try {
    if (typeof value !== 'object' || value === null || value instanceof Date) return shown(value);
    return shownParts(value);
  } catch {
    return `a value (${typeof value})`;
  }
}

/** The beginning of a text, as JSON, and how long it is where that is not all. */
export function quoted(text: string): string {
  const start = JSON.stringify(text.slice(0, LENGTH_MAX));
  return text.length > LENGTH_MAX ? `${start}... (${text.length} characters)` : start;
}

function shownParts(value: object): string {
  const list = Array.isArray(value) ? value.length : undefined;
  const text = jsonStart(value, 0);
  if (text.length <= LENGTH_MAX) return `${text} (${list === undefined ? 'object' : 'array'})`;
  return `${text.slice(0, LENGTH_MAX)}... (${list === undefined ? 'object' : `array of ${list}`})`;
}

/** JSON of a value; of one that is longer than what is shown, no more than the beginning. */
function jsonStart(value: unknown, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LENGTH_MAX));
  if (typeof value === 'bigint') return isHuge(value) ? '...' : `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth === DEPTH_MAX) return '...';
  return Array.isArray(value) ? listStart(value, depth) : objectStart(value, depth);
}

function listStart(list: readonly unknown[], depth: number): string {
  let text = '[';
  for (let at = 0; at < list.length && text.length <= LENGTH_MAX; at++) {
    text += (at > 0 ? ',' : '') + jsonStart(list[at], depth + 1);
  }
  return `${text}]`;
}

function objectStart(value: object, depth: number): string {
  let text = '{';
  // Not Object.keys: it would copy all names of a large object, of which a few are shown.
  for (const key in value) {
    if (text.length > LENGTH_MAX) break;
    if (!Object.hasOwn(value, key)) continue;
    const part = jsonStart((value as Record<string, unknown>)[key], depth + 1);
    text += `${text.length > 1 ? ',' : ''}${JSON.stringify(key.slice(0, LENGTH_MAX))}:${part}`;
  }
  return `${text}}`;
}

function isHuge(value: bigint): boolean {
  return BigInt.asIntN(128, value) !== value;
}
