/**
 * What a caller is told who does not get a lock, or who has lost one.
 *
 * Promise: whether somebody else holds it and whether the store can be asked are two errors, never
 * one.
 */
import { SnowflakeError, isSnowflakeError } from '../../errors.js';
import { errorText, printable } from '../../shown.js';
import type { LockRefusal } from '../lock-store.js';

/** @param waitMs how long the caller was ready to wait */
export function lockHeld(
  lock: string,
  { label, leftMs }: Pick<LockRefusal, 'label' | 'leftMs'>,
  waitMs: number,
) {
  const safe = printable(label);
  const advice =
    waitMs === 0
      ? 'Try again later, or give `waitMs` to wait for it.'
      : `It was waited for, for ${waitMs} ms. Try again later, or give a longer \`waitMs\`.`;
  return new SnowflakeError(
    'LOCK_HELD',
    `The lock ${lock} is held by ${safe}, for ${leftMs} ms unless it is extended. Nothing was ` +
      `done. ${advice}`,
    { details: { lock, label: safe, leftMs } },
  );
}

/** Why a lock is no longer held. */
export type LossReason = 'time' | 'store' | 'limit' | 'released';

const LOSSES: Readonly<Record<LossReason, string>> = {
  time: 'its time was over before the store could be asked for more',
  store: 'the store no longer knows it, after a loss of data or because another one has it',
  limit: 'it was held for as long as `holdAtMostMs` says',
  released: 'it was released',
};

export function lockLost(lock: string, token: bigint, reason: LossReason): SnowflakeError {
  return new SnowflakeError(
    'LOCK_LOST',
    `The lock ${lock} is no longer held: ${LOSSES[reason]}. Somebody else may hold it by now. ` +
      `Stop the work it protects; writes that come too late must be refused by their token.`,
    { details: { lock, token: String(token), reason } },
  );
}

export function lockReentered(lock: string): SnowflakeError {
  return new SnowflakeError(
    'LOCK_REENTERED',
    `The lock ${lock} was requested inside a section that already holds it, which would wait for ` +
      `itself. Pass the section on to what is called, or lock a smaller part.`,
    { details: { lock } },
  );
}

export function closing(lock: string): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    `The lock ${lock} was not requested, because this process is shutting down.`,
    { retryable: false, details: { lock } },
  );
}

/** The store is new or has lost data. Nobody holds the lock, and nobody gets it. */
export function notYet(lock: string, waitMs: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store of the lock ${lock} is new or may have lost data, and a lock that it has ` +
      `forgotten may still be held. It grants none for another ${waitMs} ms. ` +
      `Try again then.`,
    { details: { lock, waitMs } },
  );
}

export function tooSlow(lock: string, ms: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store of the lock ${lock} did not answer within ${ms} ms. It is unknown whether anybody ` +
      `holds it. Check the store and the network; \`callTimeoutMs\` says how long to wait.`,
    { details: { lock } },
  );
}

/** What a store throws, as one of our errors. */
export function unavailable(lock: string, error: unknown): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store of the lock ${lock} failed: ${printable(errorText(error))}`,
    { cause: error, details: { lock } },
  );
}
