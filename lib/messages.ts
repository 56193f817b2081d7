/**
 * How values and texts of others are shown in messages: in one file, as all hide the same secrets.
 * Guarantee: no secret. A URL is shown by its scheme alone, also in the place of a number, and what
 * a server or a client says without the passwords it repeats. Nothing that throws when it is read
 * makes an error of its own, and no character steers a terminal, a page or a log.
 */
import { knownStart, oddityOf } from './url-schemes.js';

/** Enough for every form of an id. */
const LENGTH_MAX = 40;
/** Lists and objects inside of each other beyond this are not opened. */
const DEPTH_MAX = 5;

/**
 * How a wrong value is shown in a message: the value itself and its type, never `[object
 * Object]`.
 */
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

/** JSON, with bigint as text; never an error of its own. */
function jsonOf(value: unknown): string {
  try {
    return escapedText(JSON.stringify(value, shownPart) ?? 'a value');
  } catch {
    return 'a value';
  }
}

function shownPart(name: string, part: unknown): unknown {
  if (typeof part === 'bigint') return `${part}n`;
  if (typeof part !== 'string') return part;
  return SECRET_NAME.test(name) ? '***' : withoutUrl(part);
}

/** What an object calls its secrets. */
const SECRET_NAME = /pass|secret|token|pepper|credential|auth/i;

/** A text may be a URL in the wrong place, with a password after its scheme. */
function withoutUrl(text: string): string {
  const at = text.indexOf('://');
  return at < 0 ? text : `${text.slice(0, at + '://'.length)}...`;
}

/**
 * Like `format`, in the time of a short value: of a long text, a long list, a large or a deep
 * object only what is shown is looked at, and no toJSON is called.
 */
export function formatShort(value: unknown): string {
  if (typeof value === 'string') return `${quoted(value)} (string)`;
  if (typeof value === 'bigint' && isHuge(value)) return 'a bigint of more than 128 bits';
  try {
    if (typeof value !== 'object' || value === null || value instanceof Date) return format(value);
    return shownParts(value);
  } catch {
    return `a value (${typeof value})`;
  }
}

/** The beginning of a text, as JSON, and how long it is where that is not all. */
export function quoted(text: string): string {
  const start = printableJson(withoutUrl(text.slice(0, LENGTH_MAX)));
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
  // Not Object.keys: it would copy all names of a large object, of which a few are shown.
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
 * How a URL that cannot be used is shown in a message: its scheme where that is a well-known one,
 * what is odd about it, and nothing else. Where the faulty part ends and a password begins, only
 * its author knows.
 */
export function formatUrl(text: string): string {
  const start = knownStart(text);
  const odd = oddityOf(text);
  if (start !== undefined) return `${start}... (${odd ?? 'the rest is not shown'})`;
  return odd ?? 'a text without a known scheme, not shown since it may hold a password';
}

/** Servers repeat the arguments of a command they do not know: AUTH, and its password. */
const REPEATED_ARGUMENTS = /,? with args beginning with:.*$/s;
/** The login of a URL; where it ends, only its author knows, so up to the last @. */
const LOGIN = /:\/\/\S*@/g;

/** A text that others wrote, such as an answer of a server, without the secrets it repeats. */
export function withoutSecrets(text: string, secrets: readonly string[] = []): string {
  const plain = text.replace(REPEATED_ARGUMENTS, '').replace(LOGIN, '://***@');
  return secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret !== '')
    .toSorted((a, b) => b.length - a.length)
    .reduce((seen, secret) => seen.replaceAll(secret, '***'), plain);
}

/**
 * The error of a client as a cause: name, message, stack, code and the name of its command. The
 * error itself may hold the arguments of AUTH, options or a URL, and loggers print all of that.
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

/** What an error says, or whatever was thrown in its place. */
export function errorText(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}

/** An object may have no toString(). */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a value (${typeof value})`;
  }
}

/** The longest name of a host has 253. */
const NAME_LENGTH_MAX = 255;
/** What is not drawn: C0, C1, bidi controls, zero-width, half a character, line separators. */
const NOT_DRAWN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Each character that is not drawn becomes a question mark. */
export function printable(text: string): string {
  return text.replace(NOT_DRAWN, '?');
}

/** JSON that says the same: such characters become escapes. */
export function printableJson(value: unknown): string {
  return escapedText(JSON.stringify(value));
}

/** The beginning of a name that is too long. */
export function cutName(text: string, lengthMax = NAME_LENGTH_MAX): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** A name of somebody else, as it may stand beside our own words. */
export const formatName = (text: unknown): string => printable(cutName(String(text)));

const escapedText = (text: string): string => text.replace(NOT_DRAWN, escaped);

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
