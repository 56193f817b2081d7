/**
 * The errors of a store or of the connection to it, with a remedy for each: tables whose first
 * matching row applies. `details.refusal` contains its name.
 *
 * Guarantee: a temporary error is retryable, and an error that a person must fix is not. Neither
 * the message nor the cause holds a secret.
 */
import { SnowflakeError } from '../errors.js';
import { plainCause, withoutSecrets } from '../messages.js';

export interface Refusal {
  /** Matches a code, or the message. */
  readonly says: RegExp;
  readonly advice: string;
  /** False if a retry cannot help. */
  readonly retryable: boolean;
}

/** A person must remove its cause. */
export const never = (says: RegExp, advice: string): Refusal => {
  return { says, advice, retryable: false };
};

/** It is temporary. */
export const later = (says: RegExp, advice: string): Refusal => {
  return { says, advice, retryable: true };
};

export type NamedRefusal = readonly [name: string, refusal: Refusal];

export function refusalIn(
  refusals: Readonly<Record<string, Refusal>>,
  texts: readonly string[],
): NamedRefusal | undefined {
  return Object.entries(refusals).find(([, { says }]) => texts.some((text) => says.test(text)));
}

/** The error of a call after close(), or of one that close() interrupts. */
export function closedError(name: string, where: string): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    `The connection to ${name} is closed because the application is shutting down; nothing ` +
      `would close a new one. Call this while it is running.`,
    { retryable: false, details: { where } },
  );
}

interface Failure {
  readonly place: {
    /** The message begins with it. */
    readonly name: string;
    readonly where: string;
    readonly secrets: readonly string[];
  };
  readonly said: string;
  readonly cause: unknown;
}

export function refusalError(
  { place: { name, where, secrets }, said, cause }: Failure,
  [refusal, { advice, retryable }]: NamedRefusal,
): SnowflakeError {
  const plain = withoutSecrets(said.replace(/[.\s]+$/, ''), secrets);
  return new SnowflakeError('STORE_UNAVAILABLE', `${name}: ${plain}. ${advice}`, {
    retryable,
    cause: plainCause(cause, secrets),
    details: { where, refusal },
  });
}
