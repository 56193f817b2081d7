/**
 * Every way this library can fail, on one screen.
 *
 * Guarantee: every failure reaches the caller as a SnowflakeError whose code is in the closed list
 * below and whose message says what happened, what was done, and what to do. The rooms write their
 * own messages.
 */
/** The reason of a failure. The list is closed: a `switch` over it can be exhaustive. */
export type SnowflakeErrorCode =
  /** Options or layout are wrong; the message lists every fault found. */
  | 'CONFIG_INVALID'
  /** No worker ID is held: before the start has finished (retryable) or after shutdown (not). */
  | 'NOT_READY'
  /** The leased range of time is used up, or the lease was given up because it had been cloned. */
  | 'LEASE_LOST'
  /** Every worker ID of the namespace is leased; `details.waitMs` says when one is free. */
  | 'NO_WORKER_FREE'
  /** The store did not answer, refused the connection, or refused to write. */
  | 'STORE_UNAVAILABLE'
  /** The clock of this host is before the epoch, or too far from the registry's clock. */
  | 'CLOCK_UNUSABLE'
  /** The IDs of this tick are spent and the clock has not moved on far enough. */
  | 'SEQUENCE_SPENT'
  /** The buffered numbers are spent and the store has not given more yet. */
  | 'SEGMENT_SPENT'
  /** The store does not know the counter: it was never created, or the store lost it. */
  | 'COUNTER_ABSENT'
  /** The counter belongs to another layout, or to another number of stores or place among them. */
  | 'COUNTER_MISMATCH'
  /** The counter has reached its last number. */
  | 'COUNTER_FULL'
  /** Another caller holds the lock; `details.label` says who. */
  | 'LOCK_HELD'
  /** The lock was held and is no longer: the work it protected may have come too late. */
  | 'LOCK_LOST'
  /** A lock was requested inside a section that holds it, which would wait for ever. */
  | 'LOCK_REENTERED'
  /** The layout's timestamp bits have run out. */
  | 'TIME_EXHAUSTED'
  /** A value is not an ID of this layout or of this text form. */
  | 'ID_INVALID'
  /** A call was given an argument that it cannot use: a field, a count or a Date. */
  | 'ARGUMENT_INVALID'
  /** The namespace is in use with another layout, unit or epoch. */
  | 'LAYOUT_MISMATCH'
  /** The registry is kept by another version of the lease protocol. */
  | 'VERSION_MISMATCH'
  /** Another region has the number of this one, so that IDs of both could be equal. */
  | 'REGION_TAKEN';

/** After these codes the same call can succeed later without any other change. */
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

/** Marks our errors, so that two copies of the package recognise each other's. */
const BRAND = Symbol.for('nestjs-snowflake:error');

/** The further properties of a SnowflakeError. */
export interface SnowflakeErrorOptions {
  /** Overrides the default of the code: a wrong password will not cure itself. */
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
  /** The command that prints what to do about this code; a log that shows the error shows it. */
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
      ? `${none} yet, so no id was made. The start, or the application that started with \`lazy\`, ` +
          'is waiting for the store, and the log has the reason. Wait with nextIdAsync().'
      : 'The generator has not been started, so no id was made. A constructor or a factory runs ' +
          `too early: make the id in onModuleInit or later. ${NOT_STARTED}`,
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
      `${shown.join(', ')}). No id was made of it, and nothing was written. Please report it.`,
    { retryable: false, details: { invariant, ...values } },
  );
}

/** True for an error of this library, whichever copy of the package made it. */
export function isSnowflakeError(error: unknown): error is SnowflakeError {
  return typeof error === 'object' && error !== null && BRAND in error;
}
