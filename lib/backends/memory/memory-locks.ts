/**
 * Locks in this process: for tests, and for whoever has one process only.
 *
 * Promise: the contract of LockStore in full, by the reference rules. It begins with the process,
 * so that nothing was forgotten and nobody has to wait.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { checkAcquire, checkExtend, checkRelease } from '../../lock/check-request.js';
import { newHeader } from '../../lock/lock-opening.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  LockRecord,
  LockStore,
  ReleaseRequest,
} from '../../lock/lock-store.js';
import { LockMap } from './lock-map.js';
import { methodFaults, refuse, unknownNames } from '../../option-faults.js';

/** Options of MemoryLocks. */
export interface MemoryLocksOptions {
  /** Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/**
 * Whoever shall share locks is given the same object.
 *
 * @example
 * ```ts
 * import { MemoryLocks } from 'nestjs-snowflake';
 *
 * const locks = new MemoryLocks();
 * ```
 */
export class MemoryLocks implements LockStore {
  readonly place = 'the memory of this process';
  readonly lossWindowMs = 0;
  private readonly map = new LockMap();
  private readonly clock: Clock;
  private readonly waiting = new Map<string, Set<() => void>>();

  constructor(options: MemoryLocksOptions = {}) {
    const { clock = systemClock } = options;
    refuse([
      ...unknownNames(options, 'clock', 'MemoryLocks'),
      ...methodFaults('clock', clock, ['now']),
    ]);
    this.clock = clock;
    this.map.state = { header: newHeader(0, this.reading()), rows: new Map() };
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    return this.map.acquire(request, this.reading());
  }

  async extend(request: ExtendRequest): Promise<ExtendAnswer> {
    checkExtend(request);
    return this.map.extend(request, this.reading());
  }

  async release(request: ReleaseRequest): Promise<void> {
    checkRelease(request);
    if (!this.map.release(request, this.reading())) return;
    for (const wake of this.waiting.get(request.lock) ?? []) wake();
  }

  /** Whoever waits sees to the time; it is told of releases. */
  untilReleased(lock: string, _limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.waiting.get(lock) ?? new Set();
      this.waiting.set(lock, waiting);
      const wake = () => {
        signal.removeEventListener('abort', wake);
        waiting.delete(wake);
        if (waiting.size === 0) this.waiting.delete(lock);
        resolve();
      };
      waiting.add(wake);
      if (signal.aborted) wake();
      else signal.addEventListener('abort', wake);
    });
  }

  async locks(): Promise<LockRecord[]> {
    return this.map.locks(this.clock.now());
  }

  async advice(): Promise<string[]> {
    return [
      'Locks in memory exclude nobody outside of this process. Use Redis, etcd or a database ' +
        'where several processes run.',
    ];
  }

  private reading() {
    const random = Math.random().toString(36).slice(2);
    return { timeMs: this.clock.now(), server: 'memory', random, lossWindowMs: 0 };
  }
}
