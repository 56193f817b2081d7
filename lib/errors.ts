/**
 * Every way this library can fail, on one screen.
 *
 * Promise: whatever goes wrong reaches the caller as a SnowflakeError whose code is one of the
 * closed list below and whose message says what happened, what was done, and what to do.
 * The rooms write their own messages; this file knows none of them.
 */

/** Why a call failed. The list is closed: a `switch` over it can be exhaustive. */
export type SnowflakeErrorCode =
  /** Options or layout are wrong; the message lists every fault found. */
  | 'CONFIG_INVALID'
  /** No worker id is held: before the start has finished (retryable) or after shutdown (not). */
  | 'NOT_READY'
  /** The leased range of time is used up, or the lease was given up because it had been cloned. */
  | 'LEASE_LOST'
  /** Every worker id of the namespace is leased; `details.waitMs` says when one is free. */
  | 'NO_WORKER_FREE'
  /** The store did not answer, refused the connection, or refused to write. */
  | 'STORE_UNAVAILABLE'
  /** The host clock cannot be used: before the epoch, or too far from the registry's clock. */
  | 'CLOCK_BACKWARDS'
  /** The ids of this tick are spent and the clock has not moved on far enough. */
  | 'SEQUENCE_SPENT'
  /** The layout's timestamp bits have run out. */
  | 'TIME_EXHAUSTED'
  /** A value is not an id of this layout or of this text form. */
  | 'ID_INVALID'
  /** The namespace is in use with another layout, unit or epoch. */
  | 'LAYOUT_MISMATCH'
  /** The registry is kept by another version of the lease protocol. */
  | 'VERSION_MISMATCH';

/** Codes after which the same call can succeed later without anybody changing anything. */
const RETRYABLE: ReadonlySet<SnowflakeErrorCode> = new Set<SnowflakeErrorCode>([
  'NOT_READY',
  'LEASE_LOST',
  'NO_WORKER_FREE',
  'STORE_UNAVAILABLE',
  'CLOCK_BACKWARDS',
  'SEQUENCE_SPENT',
]);

/** Marks our errors, so that two copies of the package recognise each other's. */
const BRAND = Symbol.for('nestjs-snowflake:error');

export interface SnowflakeErrorOptions {
  /** Overrides the default of the code, e.g. a wrong password will not cure itself. */
  readonly retryable?: boolean;
  /** The numbers behind the message, for programs. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * The one error class of this library.
 *
 * @example
 * ```ts
 * import { isSnowflakeError } from 'nestjs-snowflake';
 *
 * function shouldRetry(error: unknown): boolean {
 *   return isSnowflakeError(error) && error.retryable;
 * }
 * ```
 */
export class SnowflakeError extends Error {
  override readonly name = 'SnowflakeError';
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly [BRAND] = true;

  constructor(
    readonly code: SnowflakeErrorCode,
    message: string,
    options: SnowflakeErrorOptions = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.retryable = options.retryable ?? RETRYABLE.has(code);
    this.details = options.details ?? {};
  }
}

/** True for an error of this library, whichever copy of the package made it. */
export function isSnowflakeError(error: unknown): error is SnowflakeError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

/**
 * How a wrong value is shown in a message: the value itself and its type, never `[object
 * Object]`.
 */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return `${JSON.stringify(value)} (string)`;
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
    const bigintAsText = (_: string, part: unknown) =>
      typeof part === 'bigint' ? `${part}n` : part;
    return JSON.stringify(value, bigintAsText) ?? 'a value';
  } catch {
    return 'a value';
  }
}

/** Nothing else of a URL is ever shown: what was pasted in its place may be a password. */
const SCHEMES_SHOWN =
  'static: redis:// rediss:// redis+sentinel:// rediss+sentinel:// redis+cluster:// ' +
  'rediss+cluster:// valkey:// valkeys:// http:// https:// tcp:// unix:// file:// etcd:// ' +
  'amqp:// rabbit:// postgres:// postgresql:// mysql:// mariadb:// sqlite:// mongodb:// ' +
  'mongodb+srv://';

/**
 * How a URL that cannot be used is shown in a message: its scheme where that is a well-known one,
 * and nothing else. Where the faulty part ends and a password begins, only its author knows.
 */
export function shownUrl(text: string): string {
  const start = text.toLowerCase();
  const scheme = SCHEMES_SHOWN.split(' ').find((known) => start.startsWith(known));
  return scheme === undefined
    ? 'a text that is not shown, since it may hold a password'
    : `${scheme}... (the rest is not shown)`;
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
  if (!(error instanceof Error)) return new Error(withoutSecrets(String(error), secrets));
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
