/**
 * Locks in memory: a Map around the rules of `lib/lock`.
 *
 * Time, server and randomness are given at each call, and each call is one step, so that tests and
 * simulations decide what happens.
 */
import { acquireLock } from '../../lock/acquire-lock.js';
import { extendLock } from '../../lock/extend-lock.js';
import type {
  LockHeader,
  LockReading,
  LockRow,
  LockSlice,
  LockStep,
} from '../../lock/lock-slice.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  LockRecord,
  ReleaseRequest,
} from '../../lock/lock-store.js';
import { lockRecords } from '../../lock/lock-view.js';
import { releaseLock } from '../../lock/release-lock.js';
import { isForgettable } from '../../lock/token.js';
import { nowOf } from '../../registry/registry-clock.js';

export interface LockState {
  header: LockHeader;
  /** The one that was written last is the last. */
  readonly rows: Map<string, LockRow>;
}

/** At most so many are forgotten for each one that is acquired. */
const SWEPT_COUNT = 2;

export class LockMap {
  /** Undefined where nothing was ever locked, or where it was lost. */
  state: LockState | undefined;

  acquire(request: AcquireRequest, reading: LockReading): AcquireAnswer {
    const answer = this.taken(request.lock, (slice) => acquireLock(slice, request, reading));
    this.sweep();
    return answer;
  }

  extend(request: ExtendRequest, reading: LockReading): ExtendAnswer {
    return this.taken(request.lock, (slice) => extendLock(slice, request, reading));
  }

  release(request: ReleaseRequest, reading: LockReading): boolean {
    return this.taken(request.lock, (slice) => releaseLock(slice, request, reading));
  }

  locks(timeMs: number): LockRecord[] {
    if (this.state === undefined) return [];
    const { header, rows } = this.state;
    const named = [...rows].map(([lock, row]) => ({ lock, row }));
    return lockRecords(header, named, { timeMs });
  }

  private taken<T>(lock: string, rule: (slice: LockSlice) => LockStep<T>): T {
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
      if (next.done === true || !isForgettable(next.value[1], nowOf(header))) return;
      rows.delete(next.value[0]);
    }
  }
}
