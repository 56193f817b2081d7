/**
 * Every way this library can fail, on one screen.
 *
 * Guarantee: every failure reaches the caller as a SnowflakeError with a code from the closed list
 * below. Its message explains what happened, what the library did, and what to do. Each folder of
 * lib writes its own messages.
 */
/** The reason of a failure. The list is closed: a `switch` over it can be exhaustive. */
export type SnowflakeErrorCode =
  /** The options or the layout are invalid; the message lists every error. */
  | 'CONFIG_INVALID'
  /**
   * No worker ID is held: before the end of the start (retryable) or after shutdown (permanent).
   */
  | 'NOT_READY'
  /** The leased time range is used up, or the lease was dropped because its process was cloned. */
  | 'LEASE_LOST'
  /** Every worker ID of the namespace is leased; `details.waitMs` is the time until one is free. */
  | 'NO_WORKER_FREE'
  /** The store did not respond, refused the connection, or refused to write. */
  | 'STORE_UNAVAILABLE'
  /** The clock of this host is before the epoch, or too far from the registry's clock. */
  | 'CLOCK_UNUSABLE'
  /** The IDs of this tick are used up, and the clock has not advanced far enough. */
  | 'SEQUENCE_SPENT'
  /** The buffered numbers are used up, and the store has not granted more yet. */
  | 'SEGMENT_SPENT'
  /** The counter does not exist: it was never created, or the store lost it. */
  | 'COUNTER_ABSENT'
  /** The counter belongs to another layout, or to another number or order of stores. */
  | 'COUNTER_MISMATCH'
  /** The counter has reached its last number. */
  | 'COUNTER_FULL'
  /** Another caller holds the lock; `details.label` names the holder. */
  | 'LOCK_HELD'
  /** The lock is no longer held: the protected work may have been too late. */
  | 'LOCK_LOST'
  /** A lock was requested inside a section that holds it, which would wait forever. */
  | 'LOCK_REENTERED'
  /** The layout's timestamp bits have run out. */
  | 'TIME_EXHAUSTED'
  /** A value is not an ID of this layout or of this text form. */
  | 'ID_INVALID'
  /** A call received an invalid argument: a field, a count, or a Date. */
  | 'ARGUMENT_INVALID'
  /** The namespace is in use with another layout, unit or epoch. */
  | 'LAYOUT_MISMATCH'
  /** The registry uses another version of the lease protocol. */
  | 'VERSION_MISMATCH'
  /** Another region has the same number, so IDs of both could be equal. */
  | 'REGION_TAKEN';

/** After these errors, the same call can succeed later without any other change. */
const RETRYABLE: ReadonlySet<SnowflakeErrorCode> = new Set<SnowflakeErrorCode>([
  'NOT_READY',
  'LEASE_LOST',
  'NO_WORKER_FREE',
  'STORE_UNAVAILABLE',
  'CLOCK_UNUSABLE',
  'SEQUENCE_SPENT',
  'SEGMENT_SPENT',
  'LOCK_HELD',
]);

/** Marks the errors of this package, so two copies of it recognize each other's errors. */
const BRAND = Symbol.for('nestjs-snowflake:error');

/** The additional properties of a SnowflakeError. */
export interface SnowflakeErrorOptions {
  /** Overrides the default of the code: for example, retrying does not fix a wrong password. */
  readonly retryable?: boolean | undefined;
  /** The numbers in the message, for programs. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
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
  /** The command that explains what to do about this code; it appears in logs with the error. */
  readonly runbook: string;
  readonly [BRAND] = true;

  constructor(
    readonly code: SnowflakeErrorCode,
    message: string,
    options: SnowflakeErrorOptions = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.retryable = options.retryable ?? RETRYABLE.has(code);
    this.details = options.details ?? {};
    this.runbook = `npx snowflake explain ${code}`;
  }
}

/**
 * The error of a caller that is too early: before Nest has called our onModuleInit, or while the
 * start, or `lazy` behind it, waits for what `none` names.
 */
export function tooEarly(none: string, hasBegun: boolean): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    hasBegun
      ? `${none} yet, so no id was generated. The start, or the application that started with \`lazy\`, ` +
          'is waiting for the store, and the log has the reason. Wait with nextIdAsync().'
      : 'The generator has not been started, so no id was generated. A constructor or a factory runs ' +
          `too early: generate the id in onModuleInit or later. ${NOT_STARTED}`,
  );
}

/** The cure in all other places. */
export const NOT_STARTED =
  'Otherwise call app.init() or app.listen() first. A module that LazyModuleLoader loads is never ' +
  'started: import it in the root module.';

/**
 * For what can be only through a fault of this library. It is asserted where it costs nothing that
 * counts, before an ID or a write rests on it; `details.invariant` names it.
 */
export function invariantBroken(
  invariant: string,
  values: Readonly<Record<string, number>>,
): SnowflakeError {
  const shown = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return new SnowflakeError(
    'LEASE_LOST',
    `A fault of nestjs-snowflake was noticed before it did harm: ${invariant} (` +
      `${shown.join(', ')}). No id was generated of it, and nothing was written. Please report it.`,
    { retryable: false, details: { invariant, ...values } },
  );
}

/** True for an error of this library, from any copy of the package. */
export function isSnowflakeError(error: unknown): error is SnowflakeError {
  return typeof error === 'object' && error !== null && BRAND in error;
}
