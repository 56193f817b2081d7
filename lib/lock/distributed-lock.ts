/**
 * The locks of an application: run something under a lock, or get a lock and release it.
 *
 * Guarantee: no caller waits for itself, and no failure in the background is an unhandled
 * rejection.
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

/** The locks of a process, as the process itself knows them. */
export interface LockStatus extends HoldingsStatus {
  /** The place of the store of the locks. */
  readonly location: string | undefined;
}

/** A caller that would skip the work learns of a store that grants nothing for longer than this. */
const PAUSE_MS_MAX = 60_000;

/** The sections that the current call runs in, from the innermost out. */
interface Nested {
  readonly of: DistributedLock;
  readonly section: HeldSection;
  readonly outer: Nested | undefined;
}

/**
 * One for the process: Node never forgets a storage that was used, and Node 20 asks it at each
 * promise.
 */
const sections = processWide('lock-sections', () => new AsyncLocalStorage<Nested>());

type Run<T> = (section: LockSection) => T | Promise<T>;

/**
 * Locks of a store. In an application it is injected: see LockModule.
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

  /** @throws SnowflakeError CONFIG_INVALID with every fault */
  constructor(store: LockStore, options: LockOptions = {}) {
    this.#terms = lockTerms(options);
    this.#holdings = new Holdings(store, this.#terms);
  }

  /**
   * Runs something under a lock and releases it.
   *
   * @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE or LOCK_REENTERED, and nothing was run;
   *   LOCK_LOST if it was lost before the end; and every error of the section
   */
  using<T>(lock: string, run: Run<T>): Promise<T>;
  using<T>(lock: string, options: HoldOptions, run: Run<T>): Promise<T>;
  async using<T>(lock: string, given: HoldOptions | Run<T>, last?: Run<T>): Promise<T> {
    const [options, run] = typeof given === 'function' ? [{}, given] : [given, last!];
    const section = await this.#acquire(lock, options);
    return this.#runIn(section, () => run(section));
  }

  /**
   * Works like `using`, but if another caller holds the lock, it runs nothing and throws nothing.
   * It waits up to a minute longer for a store that grants nothing yet, as after a restart, since
   * no other caller does the work meanwhile.
   *
   * @returns the result of the section, or undefined if it was not run
   * @throws SnowflakeError like `using`, but never LOCK_HELD
   */
  async usingOrSkip<T>(lock: string, options: HoldOptions, run: Run<T>): Promise<T | undefined> {
    const section = await unlessHeld(() => this.#acquire(lock, options, PAUSE_MS_MAX));
    return section && this.#runIn(section, () => run(section));
  }

  /**
   * Returns a lock that the caller has to release.
   *
   * @throws SnowflakeError LOCK_HELD with `details.label` and `details.leftMs`; STORE_UNAVAILABLE:
   *   it is unknown whether the lock is held
   */
  async acquire(lock: string, options: HoldOptions = {}): Promise<AcquiredLock> {
    return this.#handles.of(await this.#acquire(lock, options));
  }

  /**
   * Works like `acquire`, but returns undefined if another caller holds the lock.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE: it is unknown whether the lock is held
   */
  tryAcquire(lock: string, options: HoldOptions = {}): Promise<AcquiredLock | undefined> {
    return unlessHeld(() => this.acquire(lock, options));
  }

  /**
   * Runs something under several locks and releases them. They are taken one after another in the
   * order of their names, so that no two callers wait for each other, whichever order they give;
   * `waitMs` is for all of them together. If one is refused, those taken before are released.
   *
   * @param locks 1 to 100 names; one that is given twice is taken once
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
   * Works like `usingAll`, and returns locks that the caller has to release.
   *
   * @throws SnowflakeError like `acquire`
   */
  async acquireAll(locks: readonly string[], options: SeveralOptions = {}): Promise<AcquiredLocks> {
    return this.#handles.of(await this.#holdings.come(() => this.#acquireAll(locks, options)));
  }

  /** All notes of the store, in the order of the names of their locks. */
  async notes(): Promise<LockNote[]> {
    if (this.#store.notes !== undefined) return this.#store.notes();
    throw new SnowflakeError('CONFIG_INVALID', 'This store of locks cannot list their notes.');
  }

  /** All locks of the store that are held, in the order of their names. */
  async list(): Promise<LockRecord[]> {
    if (this.#store.locks !== undefined) return this.#store.locks();
    throw new SnowflakeError('CONFIG_INVALID', 'This store of locks cannot list them.');
  }

  /** The known dangers to the locks, one sentence each; empty without any. */
  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  get status(): LockStatus {
    const { location } = this.#store;
    return { location, ...this.#holdings.status };
  }

  /**
   * Calls a function for every event of the locks of this process. @returns a function that ends it
   */
  listen(listener: LockListener): () => void {
    return this.#holdings.events.listen(listener);
  }

  /**
   * Resolves when no caller in this process holds or waits for a lock, or after `drainMs`.
   *
   * @returns how much of `drainMs` is left, for `close()`
   */
  drain(): Promise<number> {
    return this.#holdings.drain();
  }

  /**
   * Refuses new and waiting callers, waits up to `drainMs` for the locks that are held, and closes
   * the store. Locks still held then are no longer extended; one whose section ends later is
   * released, and the store closed again.
   *
   * @param drainMs instead of the option: what `drain()` has left of it
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
      // Work that was begun in a section and goes on after its end is no longer inside of it.
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
