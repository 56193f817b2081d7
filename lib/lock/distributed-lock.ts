/**
 * The face of locks for an application: run something under a lock, or get one and let it go.
 *
 * Guarantee: nobody waits for itself; nothing that goes wrong in the background is an unhandled
 * rejection.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { processWide } from '../process-wide.js';
import type { HeldSection, LockSection } from './held-section.js';
import { Holdings, type HoldingsStatus } from './holdings.js';
import { lockReentered, type LockListener } from './lock-events.js';
import {
  holdTerms,
  lockTerms,
  type HoldOptions,
  type LockOptions,
  type LockTerms,
} from './lock-options.js';
import type { LockRecord, LockStore } from './lock-store.js';

/** A lock that is held until it is released, or lost. */
export interface AcquiredLock extends LockSection {
  /** Never throws: a lock of which the store cannot be told is free after its ttl. */
  release(): Promise<void>;
}

/** What a process knows of its locks. */
export interface LockStatus extends HoldingsStatus {
  /** Where the store of the locks lies. */
  readonly location: string | undefined;
}

/** A store that grants nothing for longer is told to whoever would skip. */
const PAUSE_MS_MAX = 60_000;

/** Whether somebody runs under a lock, and under which others. */
interface Nested {
  readonly of: DistributedLock;
  readonly section: HeldSection;
  readonly outer: Nested | undefined;
}

/** One for all: Node never forgets a storage that was used, and Node 20 asks it at each promise. */
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
  readonly #store: LockStore;
  readonly #terms: LockTerms;
  readonly #holdings: Holdings;

  /** @throws SnowflakeError CONFIG_INVALID with every fault */
  constructor(store: LockStore, options: LockOptions = {}) {
    this.#store = store;
    this.#terms = lockTerms(options);
    this.#holdings = new Holdings(store, this.#terms);
  }

  /**
   * Runs something under a lock and releases it.
   *
   * @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE or LOCK_REENTERED, and nothing was run;
   *   LOCK_LOST where it was lost before the end; and whatever the section throws
   */
  using<T>(lock: string, run: Run<T>): Promise<T>;
  using<T>(lock: string, options: HoldOptions, run: Run<T>): Promise<T>;
  async using<T>(lock: string, given: HoldOptions | Run<T>, last?: Run<T>): Promise<T> {
    const [options, run] = typeof given === 'function' ? [{}, given] : [given, last!];
    const section = await this.#acquired(lock, options);
    return this.#ran(section, run);
  }

  /**
   * As `using`, but where somebody else holds the lock nothing is run and nothing thrown. A store
   * that grants nothing yet, as after a restart, is waited for besides, up to a minute: nobody else
   * does the work meanwhile.
   *
   * @returns what the section returned, or undefined where it was not run
   * @throws SnowflakeError as `using`, but for LOCK_HELD
   */
  async usingOrSkip<T>(lock: string, options: HoldOptions, run: Run<T>): Promise<T | undefined> {
    const section = await this.#unlessHeld(lock, options, PAUSE_MS_MAX);
    return section && this.#ran(section, run);
  }

  /**
   * A lock that is to be released by the caller; undefined where it is somebody else's.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE: it is unknown whether anybody holds it
   */
  async tryAcquire(lock: string, options: HoldOptions = {}): Promise<AcquiredLock | undefined> {
    const section = await this.#unlessHeld(lock, options);
    if (section === undefined) return undefined;
    return {
      lock,
      token: section.token,
      signal: section.signal,
      get leftMs() {
        return section.leftMs;
      },
      assertHeld: () => section.assertHeld(),
      release: () => this.#holdings.release(section),
    };
  }

  /** All locks of the store that somebody holds, in the order of their names. */
  async list(): Promise<LockRecord[]> {
    if (this.#store.locks !== undefined) return this.#store.locks();
    throw new SnowflakeError('CONFIG_INVALID', 'This store of locks cannot list them.');
  }

  /** What endangers the locks, one sentence each; empty where nothing is known to. */
  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  get status(): LockStatus {
    const { location } = this.#store;
    return { location, ...this.#holdings.status };
  }

  /** Tells of everything that happens to locks of this process. @returns ends it */
  listen(listener: LockListener): () => void {
    return this.#holdings.events.listen(listener);
  }

  /** Resolves when nobody of this process holds or waits for a lock, or after `drainMs`. */
  drain(): Promise<void> {
    return this.#holdings.drain();
  }

  /**
   * Refuses whoever comes or waits, waits for the locks that are held, up to `drainMs`, and closes
   * the store. What is held even then is no longer extended.
   */
  close(): Promise<void> {
    return this.#holdings.close();
  }

  async #unlessHeld(
    lock: string,
    options: HoldOptions,
    pauseMs = 0,
  ): Promise<HeldSection | undefined> {
    try {
      return await this.#acquired(lock, options, pauseMs);
    } catch (error) {
      if (isSnowflakeError(error) && error.code === 'LOCK_HELD') return undefined;
      throw error;
    }
  }

  async #acquired(lock: string, options: HoldOptions, pauseMs = 0): Promise<HeldSection> {
    const hold = { ...holdTerms(lock, options, this.#terms), pauseMs };
    for (let nested = sections.getStore(); nested; nested = nested.outer) {
      const { of, section } = nested;
      // What was begun in a section and goes on after it is no longer inside of it.
      if (of === this && section.lock === lock && section.isHeld) throw lockReentered(lock);
    }
    return this.#holdings.acquire(lock, hold);
  }

  async #ran<T>(section: HeldSection, run: Run<T>): Promise<T> {
    try {
      const nested = { of: this, section, outer: sections.getStore() };
      const value = await sections.run(nested, async () => run(section));
      section.assertHeld();
      return value;
    } finally {
      await this.#holdings.release(section);
    }
  }
}
