/**
 * Locks in this process: for tests, and for applications of one process.
 *
 * Guarantee: the contract of LockStore in full, by the reference rules. It begins with the process,
 * so nothing was forgotten and no caller has to wait.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { acquireLock, extendLock, newHeader, releaseLock } from '../../lock/lock-rules.js';
import {
  isForgettable,
  type LockHeader,
  type LockReading,
  type LockRow,
  type LockSnapshot,
  type LockStep,
  lockNotes,
  lockRecords,
} from '../../lock/lock-snapshot.js';
import {
  checkAcquire,
  checkExtend,
  checkRelease,
  type AcquireAnswer,
  type AcquireRequest,
  type ExtendAnswer,
  type ExtendRequest,
  type LockNote,
  type LockRecord,
  type LockStore,
  type ReleaseRequest,
} from '../../lock/lock-store.js';
import { methodFaults, refuse, unknownNames } from '../../options.js';
import { nowOf } from '../../rows/store-clock.js';

/** Options of MemoryLocks. */
export interface MemoryLocksOptions {
  /** Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/**
 * Locks in memory. To share them, give the same object.
 *
 * @example
 * ```ts
 * import { MemoryLocks } from 'nestjs-snowflake';
 *
 * const locks = new MemoryLocks();
 * ```
 */
export class MemoryLocks implements LockStore {
  readonly location = 'the memory of this process';
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

  /** The caller watches the time; this resolves at a release. */
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

  async notes(): Promise<LockNote[]> {
    return this.map.notes();
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

/*
 * Locks in memory: a Map around the rules of `lib/lock`.
 *
 * Time, server and randomness are given at each call, and each call is one step, so that tests and
 * simulations decide what happens.
 */

export interface LockState {
  header: LockHeader;
  /** The one that was written last is the last. */
  readonly rows: Map<string, LockRow>;
}

/** Each acquire forgets at most so many. */
const SWEPT_COUNT = 2;

export class LockMap {
  /** Undefined where nothing was ever locked, or where it was lost. */
  state: LockState | undefined;

  acquire(request: AcquireRequest, reading: LockReading): AcquireAnswer {
    const answer = this.taken(request.lock, (snapshot) => acquireLock(snapshot, request, reading));
    this.sweep();
    return answer;
  }

  extend(request: ExtendRequest, reading: LockReading): ExtendAnswer {
    return this.taken(request.lock, (snapshot) => extendLock(snapshot, request, reading));
  }

  release(request: ReleaseRequest, reading: LockReading): boolean {
    return this.taken(request.lock, (snapshot) => releaseLock(snapshot, request, reading));
  }

  locks(timeMs: number): LockRecord[] {
    if (this.state === undefined) return [];
    return lockRecords(this.state.header, this.named, { timeMs });
  }

  notes(): LockNote[] {
    return lockNotes(this.named);
  }

  private get named() {
    return [...(this.state?.rows ?? [])].map(([lock, row]) => ({ lock, row }));
  }

  private taken<T>(lock: string, rule: (snapshot: LockSnapshot) => LockStep<T>): T {
    const { state } = this;
    const step = rule({ header: state?.header, row: state?.rows.get(lock) });
    const header = step.header ?? state?.header;
    if (header === undefined) return step.answer;
    const rows = state?.rows ?? new Map<string, LockRow>();
    this.state = { header, rows };
    if (step.row === undefined) return step.answer;
    rows.delete(lock);
    rows.set(lock, step.row);
    return step.answer;
  }

  private sweep(): void {
    const { header, rows } = this.state!;
    const oldest = rows.entries();
    for (let count = 0; count < SWEPT_COUNT; count++) {
      const next = oldest.next();
      if (next.done === true) return;
      const [lock, row] = next.value;
      const isOver = isForgettable(row, nowOf(header));
      if (!isOver && row.note === undefined) return;
      rows.delete(lock);
      // A row that is kept for its note must not hide the older ones behind it.
      if (!isOver) rows.set(lock, row);
    }
  }
}
