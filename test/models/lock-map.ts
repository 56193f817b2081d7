/**
 * The reference locks of the tests: a Map around the rules of `lib/lock`.
 *
 * Each call takes the time, the server and the random value, and is one step. So tests and
 * simulations control the sequence of events.
 */
import { acquireLock, extendLock, releaseLock } from '../../lib/lock/lock-rules.js';
import {
  firstTokenAt,
  forgettableFrom,
  type LockHeader,
  type LockRow,
  type LockSnapshot,
  type LockStep,
  lockNotes,
  lockRecords,
} from '../../lib/lock/lock-snapshot.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  LockNote,
  LockRecord,
  ReleaseRequest,
} from '../../lib/lock/lock-store.js';
import { nowOf } from '../../lib/rows/store-clock.js';
import type { StoreReading } from '../../lib/rows/row-store.js';

export interface LockState {
  header: LockHeader;
  /** The last written row comes last. */
  readonly rows: Map<string, LockRow>;
}

/** The most rows that each acquire deletes. */
const SWEPT_COUNT = 2;

export class LockMap {
  /** Undefined before the first lock, or after a loss. */
  state: LockState | undefined;

  acquire(request: AcquireRequest, reading: StoreReading): AcquireAnswer {
    const answer = this.taken(request.lock, (snapshot) => acquireLock(snapshot, request, reading));
    this.sweep();
    return answer;
  }

  extend(request: ExtendRequest, reading: StoreReading): ExtendAnswer {
    return this.taken(request.lock, (snapshot) => extendLock(snapshot, request, reading));
  }

  release(request: ReleaseRequest, reading: StoreReading): boolean {
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
      const isOver = forgettableFrom(row) <= firstTokenAt(nowOf(header));
      if (!isOver && row.note === undefined) return;
      rows.delete(lock);
      // A row kept for its note must not hide older rows.
      if (!isOver) rows.set(lock, row);
    }
  }
}
