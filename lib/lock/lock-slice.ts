/**
 * A lock as its rules see it: what a store remembers of it and of all locks, read at one moment,
 * and what is written out. The store never has to understand what it writes.
 */
import type { StoreReading } from '../registry/slice.js';
import type { ClockState } from '../registry/registry-clock.js';

/** What a store remembers besides its locks. */
export interface LockHeader extends ClockState {
  readonly incarnation: string;
  readonly server: string;
  /** Counts losses of data. */
  readonly era: number;
  /** The longest ttl that anybody asks for: all that can be forgotten ends by then. */
  readonly longestMs: number;
  /** No longer ttl than this is granted before `provenAtMs`: until then the raise may be lost. */
  readonly provenMs: number;
  readonly provenAtMs: number;
  /** Nothing is granted before. */
  readonly readyAtMs: number;
  /** No token up to this proves a loss: it is of before the last one. */
  readonly forgottenTo: bigint;
}

/** What a store remembers of one lock. */
export interface LockRow {
  /** The last one granted. */
  readonly token: bigint;
  /** In which it was granted: in another one than the header's it is not held. */
  readonly era: number;
  /** Empty where it was released. */
  readonly holder: string;
  readonly label: string;
  readonly sinceMs: number;
  /** Nobody else is granted the lock before. */
  readonly untilMs: number;
}

export interface LockSlice {
  /** Undefined where there is none. */
  readonly header: LockHeader | undefined;
  readonly row: LockRow | undefined;
}

/** What an operation answers, once what it says is written; what is absent stays as it is. */
export interface LockStep<T> {
  readonly answer: T;
  readonly header?: LockHeader;
  readonly row?: LockRow;
}

/** What the store itself brings to an operation. */
export type LockReading = StoreReading;
