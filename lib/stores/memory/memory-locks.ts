/**
 * Locks in this process: for tests, and for applications of one process.
 *
 * Guarantee: the full LockStore contract. It begins with the process, so nothing was lost and no
 * caller has to wait.
 */
import type { Clock } from '../../core/clock.js';
import { newHeader } from '../../lock/lock-rules.js';
import { headerRowOf, RowLocks } from '../../lock/row-locks.js';
import { rowsBy, WITHOUT_PAUSE } from './memory-rows.js';

/** Options of MemoryLocks. */
export interface MemoryLocksOptions {
  /** Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/**
 * Locks in memory. To share them, pass the same object.
 *
 * @example
 * ```ts
 * import { MemoryLocks } from 'nestjs-snowflake';
 *
 * const locks = new MemoryLocks();
 * ```
 */
export class MemoryLocks extends RowLocks {
  constructor(options: MemoryLocksOptions = {}) {
    const rows = rowsBy(options, 'MemoryLocks');
    rows.begin((reading) => headerRowOf(newHeader(0, reading)));
    super(rows, { ...WITHOUT_PAUSE, releases: new MemoryReleases() });
  }

  override async advice(): Promise<string[]> {
    return [
      'Locks in memory exclude nobody outside of this process. Use Redis, etcd or a database ' +
        'where several processes run.',
    ];
  }
}

/** Wakes the callers that wait for a lock when it is released. */
class MemoryReleases {
  readonly #waiting = new Map<string, Set<() => void>>();

  readonly notify = async (lock: string): Promise<void> => {
    for (const wake of this.#waiting.get(lock) ?? []) wake();
  };

  readonly until = (lock: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const waiting = this.#waiting.get(lock) ?? new Set();
      this.#waiting.set(lock, waiting);
      const wake = () => {
        signal.removeEventListener('abort', wake);
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(lock);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
}
