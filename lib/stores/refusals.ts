/**
 * What a store refuses, or the way to it, and what to do about each: tables of refusals, of which
 * the first that fits counts. `details.refusal` has its name.
 *
 * Guarantee: a fault that passes with time is retryable, one that a person must remove is not.
 * Neither the message nor the cause holds a secret.
 */
import { SnowflakeError } from '../errors.js';
import { plainCause, withoutSecrets } from '../messages.js';

export interface Refusal {
  /** Fits a code, or what was said. */
  readonly says: RegExp;
  readonly advice: string;
  /** False where trying again cannot help. */
  readonly retryable: boolean;
}

/** A person must remove its cause. */
export const never = (says: RegExp, advice: string): Refusal => {
  return { says, advice, retryable: false };
};

/** It passes with time. */
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

/** The error of a call that comes after close(), or is under way then. */
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
