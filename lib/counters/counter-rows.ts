/**
 * What a store has to offer to keep counters when it runs no script of ours: one row for each, with
 * compare-and-swap. `RowCounters` does the rest.
 */
import type { ClockPolicy } from '../registry/registry-clock.js';

/** A counter as the store keeps it. */
export interface StoredCounter {
  /** The next position. */
  readonly next: bigint;
  /** All the rest, as JSON of less than a thousand characters. */
  readonly text: string;
  /**
   * A whole number below 2^53 that is another one after every write. A row that is made again must
   * not have a version that it ever had before.
   */
  readonly version: number;
}

/** What the store said of itself at the moment of reading. */
export interface StoreMoment {
  /** The clock of the store, in Unix milliseconds, never that of this process. */
  readonly timeMs: number;
  /** Which data answered: it changes whenever writes that were acknowledged may be gone. */
  readonly server: string;
}

export interface CounterRead extends StoreMoment {
  /** Undefined where there is none. */
  readonly stored: StoredCounter | undefined;
}

export interface CounterList extends StoreMoment {
  readonly counters: readonly (Omit<StoredCounter, 'version'> & { readonly counter: string })[];
}

export interface CounterWrite {
  readonly counter: string;
  readonly next: bigint;
  readonly text: string;
  /** As it was read; undefined where the row was not there. */
  readonly version: number | undefined;
  /** That answered when it was read. */
  readonly server: string;
}

/** Failures are thrown as SnowflakeErrors; what somebody else changed meanwhile is false. */
export interface CounterRows {
  readonly place: string;
  /** As `CounterStore.lossWindowMs`. */
  readonly lossWindowMs: number;
  /** Default `slewed`; `highest` for a store of several servers, whose clocks differ. */
  readonly clock?: ClockPolicy;
  read(counter: string): Promise<CounterRead>;
  readAll(): Promise<CounterList>;
  /** One atomic step, taken only if the row has its version and the server is the one named. */
  write(write: CounterWrite): Promise<boolean>;
  advice?(): Promise<string[]>;
  close?(): Promise<void>;
}
