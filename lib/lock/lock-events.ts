/**
 * The lock events of a process: counts for status and metrics, and listeners.
 *
 * Guarantee: memory use is constant, and a listener that throws does no harm.
 */
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { errorText, printable } from '../messages.js';
import type { LockRefusal } from './lock-store.js';

/** One thing that happened to a lock of this process. */
export type LockEvent =
  | { readonly kind: 'acquired'; readonly lock: string; readonly waitedMs: number }
  /** Another caller holds the lock. */
  | { readonly kind: 'refused'; readonly lock: string; readonly waitedMs: number }
  /** The store was unavailable, or grants nothing yet. */
  | { readonly kind: 'unavailable'; readonly lock: string; readonly waitedMs: number }
  | { readonly kind: 'lost'; readonly lock: string; readonly reason: LossReason }
  /** The store grants nothing for this long, because it is new or may have lost data. */
  | { readonly kind: 'paused'; readonly lock: string; readonly waitMs: number }
  /** The clocks of the store and of this host differ by more than 5 s; both in Unix ms. */
  | {
      readonly kind: 'skewed';
      readonly lock: string;
      readonly storeMs: number;
      readonly hostMs: number;
    }
  /** The section has run for ten times its `ttlMs`; repeated each time the duration doubles. */
  | { readonly kind: 'long'; readonly lock: string; readonly heldMs: number }
  /**
   * `isConfirmed` is false if the store did not confirm it: the lock is then free after its ttl.
   */
  | {
      readonly kind: 'released';
      readonly lock: string;
      readonly heldMs: number;
      readonly isConfirmed: boolean;
    };

/** Called for every lock event of a process. */
export type LockListener = (event: LockEvent) => void;

const NO_COUNTS = { acquired: 0, refused: 0, unavailable: 0, lost: 0, released: 0 };

/** How often each event happened since the start of the process. */
export type LockCounts = Readonly<typeof NO_COUNTS>;

export class LockEvents {
  readonly counts = { ...NO_COUNTS };
  readonly #listeners = new Set<LockListener>();
  /** The total time that callers waited, for any reason. */
  waitedMs = 0;

  notify(event: LockEvent): void {
    const counts: Partial<Record<LockEvent['kind'], number>> = this.counts;
    if (counts[event.kind] !== undefined) counts[event.kind]!++;
    if ('waitedMs' in event) this.waitedMs += event.waitedMs;
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        const said = errorText(error);
        process.emitWarning(`A listener of locks threw an error: ${said}`, 'Snowflake');
      }
    }
  }

  /** @returns a function that removes the listener */
  listen(listener: LockListener): () => void {
    // The wrapper allows a function to be registered more than once.
    const own: LockListener = (event) => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}

/*
 * The errors of a caller that does not get a lock or has lost its lock.
 *
 * Guarantee: "another caller holds it" and "the store is unreachable" are always different errors.
 */

/** @param waitMs the caller's limit of waiting */
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

/** The reason why a lock is no longer held. */
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

/** The store is new or has lost data. The lock is free, but it cannot be granted yet. */
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

/** Converts any error of a store to a SnowflakeError. */
export function unavailable(lock: string, error: unknown): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store of the lock ${lock} failed: ${printable(errorText(error))}`,
    { cause: error, details: { lock } },
  );
}
