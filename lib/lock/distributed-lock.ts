/**
 * The locks of an application: run a function under a lock, or acquire a lock and release it.
 *
 * Guarantee: no caller waits for itself, and no background failure causes an unhandled rejection.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { processWide } from '../process-wide.js';
import {
  Handles,
  HeldSections,
  type AcquiredLock,
  type AcquiredLocks,
  type HeldSection,
  type LockSection,
  type LockSections,
} from './held-section.js';
import { Holdings, type HoldingsStatus } from './holdings.js';
import { lockReentered, type LockListener } from './lock-events.js';
import {
  holdTerms,
  lockTerms,
  severalTerms,
  type HoldOptions,
  type LockOptions,
  type LockTerms,
  type SeveralOptions,
} from './lock-options.js';
import type { LockNote, LockRecord, LockStore } from './lock-store.js';

/** The locks of a process, from the process's own point of view. */
export interface LockStatus extends HoldingsStatus {
  /** The location of the lock store. */
  readonly location: string | undefined;
}

/** How long the store may grant nothing before callers that would skip the work get an error. */
const PAUSE_MS_MAX = 60_000;

/** The sections that the current call runs in, the innermost first. */
interface Nested {
  readonly of: DistributedLock;
  readonly section: HeldSection;
  readonly outer: Nested | undefined;
}

/**
 * One for the process: Node never frees a storage that was used, and Node 20 reads it at each
 * promise.
 */
const sections = processWide('lock-sections', () => new AsyncLocalStorage<Nested>());

type Run<T> = (section: LockSection) => T | Promise<T>;

/**
 * Locks of a store. Nest applications inject it: see LockModule.
 *
 * @example
 * ```ts
 * import { MemoryLocks } from 'nestjs-snowflake';
 * import { DistributedLock } from 'nestjs-snowflake/lock';
 *
 * const locks = new DistributedLock(new MemoryLocks());
 * await locks.using('order:7', { waitMs: 2000 }, async ({ signal, token }) => {
 *   await fetch('https://example.com/pay', { signal, headers: { fence: `${token}` } });
 * });
 * ```
 */
export class DistributedLock {
  readonly #terms: LockTerms;
  readonly #holdings: Holdings;
  readonly #handles = new Handles();

  /** @throws SnowflakeError CONFIG_INVALID with every error */
  constructor(store: LockStore, options: LockOptions = {}) {
    this.#terms = lockTerms(options);
    this.#holdings = new Holdings(store, this.#terms);
  }

  /**
   * Runs a function under a lock, then releases the lock.
   *
   * @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE, or LOCK_REENTERED before the section runs;
   *   LOCK_LOST if the lock ended during it; and every error of the section
   */
  using<T>(lock: string, run: Run<T>): Promise<T>;
  using<T>(lock: string, options: HoldOptions, run: Run<T>): Promise<T>;
  async using<T>(lock: string, given: HoldOptions | Run<T>, last?: Run<T>): Promise<T> {
    const [options, run] = typeof given === 'function' ? [{}, given] : [given, last!];
    const section = await this.#acquire(lock, options);
    return this.#runIn(section, () => run(section));
  }

  /**
   * Works like `using`, but if another caller holds the lock, it skips the section without an
   * error. If the store grants no locks yet, for example after a restart, it waits up to a minute
   * longer, because no other caller does the work.
   *
   * @returns the result of the section, or undefined if it did not run
   * @throws SnowflakeError like `using`, but never LOCK_HELD
   */
  async usingOrSkip<T>(lock: string, options: HoldOptions, run: Run<T>): Promise<T | undefined> {
    const section = await unlessHeld(() => this.#acquire(lock, options, PAUSE_MS_MAX));
    return section && this.#runIn(section, () => run(section));
  }

  /**
   * Acquires a lock, which the caller must release.
   *
   * @throws SnowflakeError LOCK_HELD with `details.label` and `details.leftMs`; STORE_UNAVAILABLE
   *   if it is unknown whether the lock is held
   */
  async acquire(lock: string, options: HoldOptions = {}): Promise<AcquiredLock> {
    return this.#handles.of(await this.#acquire(lock, options));
  }

  /**
   * Works like `acquire`, but returns undefined if another caller holds the lock.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE if it is unknown whether the lock is held
   */
  tryAcquire(lock: string, options: HoldOptions = {}): Promise<AcquiredLock | undefined> {
    return unlessHeld(() => this.acquire(lock, options));
  }

  /**
   * Runs a function under several locks, then releases them. It always acquires locks one by one in
   * the order of their names, so no two callers wait for each other. `waitMs` limits the total
   * wait. If the store refuses one lock, those acquired before are released.
   *
   * @param locks 1 to 100 names; duplicates count once
   * @throws SnowflakeError like `using`
   * @example
   * ```ts
   * import { MemoryLocks } from 'nestjs-snowflake';
   * import { DistributedLock } from 'nestjs-snowflake/lock';
   *
   * const locks = new DistributedLock(new MemoryLocks());
   * const accounts = ['account:7', 'account:3'];
   * await locks.usingAll(accounts, { waitMs: 2000 }, async ({ tokens, signal }) => {
   *   signal.throwIfAborted();
   *   console.log(`written with the token ${tokens.get('account:3')} of the first one`);
   * });
   * ```
   */
  async usingAll<T>(
    locks: readonly string[],
    options: SeveralOptions,
    run: (sections: LockSections) => T | Promise<T>,
  ): Promise<T> {
    const held = await this.#holdings.come(() => this.#acquireAll(locks, options));
    return this.#runIn(held, () => run(held));
  }

  /**
   * Works like `usingAll`, but returns locks that the caller must release.
   *
   * @throws SnowflakeError like `acquire`
   */
  async acquireAll(locks: readonly string[], options: SeveralOptions = {}): Promise<AcquiredLocks> {
    return this.#handles.of(await this.#holdings.come(() => this.#acquireAll(locks, options)));
  }

  /** All notes of the store, in the order of lock names. */
  async notes(): Promise<LockNote[]> {
    if (this.#store.notes !== undefined) return this.#store.notes();
    throw new SnowflakeError('CONFIG_INVALID', 'This store of locks cannot list their notes.');
  }

  /** All held locks of the store, in the order of their names. */
  async list(): Promise<LockRecord[]> {
    if (this.#store.locks !== undefined) return this.#store.locks();
    throw new SnowflakeError('CONFIG_INVALID', 'This store of locks cannot list them.');
  }

  /** The known risks to the locks, one sentence each; empty if there are none. */
  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  get status(): LockStatus {
    const { location } = this.#store;
    return { location, ...this.#holdings.status };
  }

  /**
   * Calls a function for every lock event of this process. @returns a function that unsubscribes
   */
  listen(listener: LockListener): () => void {
    return this.#holdings.events.listen(listener);
  }

  /**
   * Resolves when no caller in this process holds or waits for a lock, or after `drainMs`.
   *
   * @returns the rest of `drainMs`, for `close()`
   */
  drain(): Promise<number> {
    return this.#holdings.drain();
  }

  /**
   * Refuses new and waiting callers, waits up to `drainMs` for the held locks, and closes the
   * store. Locks that are still held are no longer extended. If a section ends later, its lock is
   * released and the store is closed again.
   *
   * @param drainMs replaces the option; the rest that `drain()` returned
   */
  close(drainMs?: number): Promise<void> {
    return this.#holdings.close(drainMs);
  }

  get #store(): LockStore {
    return this.#holdings.calls.store;
  }

  #acquire(lock: string, options: HoldOptions, pauseMs = 0): Promise<HeldSection> {
    return this.#holdings.come(() => {
      const hold = { ...holdTerms(lock, options, this.#terms), pauseMs };
      this.#refuseReentry(lock);
      return this.#holdings.acquire(lock, hold);
    });
  }

  async #acquireAll(locks: readonly string[], options: SeveralOptions): Promise<HeldSections> {
    const { names, hold } = severalTerms(locks, options, this.#terms);
    for (const lock of names) this.#refuseReentry(lock);
    return new HeldSections(await this.#holdings.acquireAll(names, hold));
  }

  #refuseReentry(lock: string): void {
    for (let nested = sections.getStore(); nested; nested = nested.outer) {
      const { of, section } = nested;
      // Work that continues after the end of its section no longer belongs to the section.
      if (of === this && section.lock === lock && section.leftMs > 0) throw lockReentered(lock);
    }
  }

  async #runIn<T>(held: HeldSection | HeldSections, run: () => T | Promise<T>): Promise<T> {
    try {
      const nest = (outer: Nested | undefined, section: HeldSection) => {
        return { of: this, section, outer };
      };
      const nested = held.sections.reduce(nest, sections.getStore());
      const value = await sections.run(nested!, run);
      held.assertHeld();
      return value;
    } finally {
      await held.release();
    }
  }
}

async function unlessHeld<T>(acquire: () => Promise<T>): Promise<T | undefined> {
  try {
    return await acquire();
  } catch (error) {
    if (isSnowflakeError(error) && error.code === 'LOCK_HELD') return undefined;
    throw error;
  }
}
