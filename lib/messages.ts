/**
 * Formats values and foreign texts for messages.
 *
 * Guarantee: messages contain no secrets. A URL appears only as its scheme, even if it was passed
 * as a number, and passwords are removed from responses of servers and clients. A value that throws
 * on access causes no further error, and no character controls a terminal, a page, or a log.
 */
import { knownStart, oddityOf } from './url-schemes.js';

/** Every form of an ID fits. */
const LENGTH_MAX = 40;
/** Lists and objects nested deeper than this are not expanded. */
const DEPTH_MAX = 5;

/** Formats a wrong value for a message: the value itself and its type, never `[object Object]`. */
export function format(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return `${printableJson(withoutUrl(value))} (string)`;
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value === 'bigint') return `${value}n (bigint)`;
  if (typeof value === 'number' || typeof value === 'boolean') return `${value} (${typeof value})`;
  if (typeof value === 'function') return `a function`;
  if (value instanceof Date) return `${String(value)} (Date)`;
  const kind = Array.isArray(value) ? 'array' : typeof value;
  return `${jsonOf(value)} (${kind})`;
}

/** JSON with bigints as strings; never throws. */
function jsonOf(value: unknown): string {
  try {
    return escapedText(JSON.stringify(value, withoutSecret) ?? 'a value');
  } catch {
    return 'a value';
  }
}

function withoutSecret(name: string, part: unknown): unknown {
  if (typeof part === 'bigint') return `${part}n`;
  if (typeof part !== 'string') return part;
  return SECRET_NAME.test(name) ? '***' : withoutUrl(part);
}

/** Names of secrets in objects. */
const SECRET_NAME = /pass|secret|token|pepper|credential|auth/i;

/** A text may be a URL in the wrong place, with a password after its scheme. */
function withoutUrl(text: string): string {
  const at = text.indexOf('://');
  return at < 0 ? text : `${text.slice(0, at + '://'.length)}...`;
}

/**
 * Like `format`, but as fast for a large value as for a short one. It reads only the displayed part
 * of a long text, a long list, or a large or deep object, and calls no toJSON.
 */
export function formatShort(value: unknown): string {
  if (typeof value === 'string') return `${quoted(value)} (string)`;
  if (typeof value === 'bigint' && isHuge(value)) return 'a bigint of more than 128 bits';
  try {
    if (typeof value !== 'object' || value === null || value instanceof Date) return format(value);
    return formatParts(value);
  } catch {
    return `a value (${typeof value})`;
  }
}

/** The beginning of a text, as JSON, and its length if it is longer. */
export function quoted(text: string): string {
  const start = printableJson(withoutUrl(text.slice(0, LENGTH_MAX)));
  return text.length > LENGTH_MAX ? `${start}... (${text.length} characters)` : start;
}

function formatParts(value: object): string {
  const list = Array.isArray(value) ? value.length : undefined;
  const text = jsonStart(value, 0);
  if (text.length <= LENGTH_MAX) return `${text} (${list === undefined ? 'object' : 'array'})`;
  return `${text.slice(0, LENGTH_MAX)}... (${list === undefined ? 'object' : `array of ${list}`})`;
}

/** JSON of a value, cut after the displayed part. */
function jsonStart(value: unknown, depth: number): string {
  if (typeof value === 'string') return printableJson(withoutUrl(value.slice(0, LENGTH_MAX)));
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
  // Object.keys would copy all names of a large object, of which only a few appear.
  for (const key in value) {
    if (text.length > LENGTH_MAX) break;
    if (!Object.hasOwn(value, key)) continue;
    const given = (value as Record<string, unknown>)[key];
    const isSecret = typeof given === 'string' && SECRET_NAME.test(key);
    const part = jsonStart(isSecret ? '***' : given, depth + 1);
    text += `${text.length > 1 ? ',' : ''}${printableJson(key.slice(0, LENGTH_MAX))}:${part}`;
  }
  return `${text}}`;
}

function isHuge(value: bigint): boolean {
  return BigInt.asIntN(128, value) !== value;
}

/**
 * Describes an unusable URL: its scheme if that is well known, and its errors. Nothing else
 * appears, since the text does not show where the faulty part ends and a password begins.
 */
export function formatUrl(text: string): string {
  const start = knownStart(text);
  const odd = oddityOf(text);
  if (start !== undefined) return `${start}... (${odd ?? 'the rest is not shown'})`;
  return odd ?? 'a text without a known scheme, not shown since it may hold a password';
}

/** Servers repeat the arguments of unknown commands, such as AUTH with its password. */
const REPEATED_ARGUMENTS = /,? with args beginning with:.*$/s;
/** The credentials of a URL. Their end is ambiguous, so this matches up to the last @. */
const LOGIN = /:\/\/\S*@/g;

/** Removes secrets that a foreign text, such as a server's response, may repeat. */
export function withoutSecrets(text: string, secrets: readonly string[] = []): string {
  const plain = text.replace(REPEATED_ARGUMENTS, '').replace(LOGIN, '://***@');
  return secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret !== '')
    .toSorted((a, b) => b.length - a.length)
    .reduce((seen, secret) => seen.replaceAll(secret, '***'), plain);
}

/**
 * A client's error as a cause: name, message, stack, code, and the name of its command. The
 * original error may contain arguments of AUTH, options, or a URL, and loggers print them all.
 */
export function plainCause(error: unknown, secrets: readonly string[] = []): Error {
  if (!(error instanceof Error)) return new Error(withoutSecrets(textOf(error), secrets));
  const { code, command } = error as { code?: unknown; command?: { name?: unknown } };
  const fresh = new Error(withoutSecrets(error.message, secrets));
  fresh.name = error.name;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  fresh.stack = [`${fresh.name}: ${fresh.message}`, ...frames].join('\n');
  return Object.assign(fresh, {
    ...(typeof code === 'string' && { code }),
    ...(typeof command?.name === 'string' && { command: command.name }),
  });
}

/** The text of an error or of any other thrown value. */
export function errorText(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}

/** Some objects have no toString(). */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a value (${typeof value})`;
  }
}

/** The longest host name has 253 characters. */
const NAME_LENGTH_MAX = 255;
/** Invisible characters: C0, C1, bidi controls, zero-width, half a character, line separators. */
const NOT_DRAWN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Replaces each invisible character by a question mark. */
export function printable(text: string): string {
  return text.replace(NOT_DRAWN, '?');
}

/** Writes equivalent JSON in which invisible characters are escapes. */
export function printableJson(value: unknown): string {
  return escapedText(JSON.stringify(value));
}

/** Cuts a name that is too long. */
export function cutName(text: string, lengthMax = NAME_LENGTH_MAX): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** Makes a foreign name safe to show in a message. */
export const formatName = (text: unknown): string => printable(cutName(String(text)));

const escapedText = (text: string): string => text.replace(NOT_DRAWN, escaped);

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
