/**
 * What a store has to offer to keep counters or locks when it runs no script of ours: rows under
 * names, with compare-and-swap. `RowCounters` and `RowLocks` do the rest.
 */
import type { ClockPolicy } from './store-clock.js';

/** A row as the store keeps it. */
export interface KeyedRow {
  /** 1 to 128 characters without spaces; a single | is one too. */
  readonly key: string;
  /** From 0n, below 2^63: the next position of a counter, or when a lock may be forgotten. */
  readonly number: bigint;
  /** All the rest, as JSON of less than two thousand characters. */
  readonly text: string;
}

/** A row as it was read. */
export interface StoredKeyedRow extends KeyedRow {
  /**
   * A whole number below 2^53 that is another one after every write. A row that is made again must
   * not have a version that it ever had before.
   */
  readonly version: number;
}

/** Rows that were read at one moment, with what the store said of itself at that moment. */
export interface KeyedRead {
  /** The clock of the store, in Unix milliseconds, never that of this process. */
  readonly timeMs: number;
  /** Which data answered: it changes whenever writes that were acknowledged may be gone. */
  readonly server: string;
  /**
   * True where the store can tell that a row is not as its last write left it: a copy that was put
   * back while the server ran, which counts as a loss of data.
   */
  readonly isPutBack?: boolean | undefined;
  /** Of the keys asked for those that there are, in any order. */
  readonly rows: readonly StoredKeyedRow[];
}

/** A row that has to be there as it was read, although it is not written. */
export interface KeyedCondition {
  readonly key: string;
  readonly version: number;
}

/** A row as it shall be. */
export interface KeyedWrite extends KeyedRow {
  /** As it was read; undefined where the row was not there. */
  readonly version: number | undefined;
  /** That answered when it was read. */
  readonly server: string;
  readonly onlyWith?: KeyedCondition | undefined;
}

/** Failures are thrown as SnowflakeErrors; what somebody else changed meanwhile is false. */
export interface KeyedRows {
  /** In words for the operator, without secrets. */
  readonly location: string;
  /** As of the store that is made of them. */
  readonly lossWindowMs: number;
  /** Default `slewed`; `highest` for a store of several servers, whose clocks differ. */
  readonly clock?: ClockPolicy | undefined;
  /** One or two keys, in one atomic step. */
  read(keys: readonly string[]): Promise<KeyedRead>;
  readAll(): Promise<KeyedRead>;
  /**
   * One atomic step, taken only if the row has its version, the server is the one named, and the
   * row of `onlyWith` has its own version.
   *
   * @returns false where it was not taken; undefined where the store says that others were at it
   */
  write(write: KeyedWrite): Promise<boolean | undefined>;
  /**
   * Deletes rows whose number is less, some thousands at most; for locks, whose names come and go.
   * Whoever does without it keeps every name for ever.
   * @returns true where there may be more of them
   */
  sweep?(below: bigint): Promise<boolean>;
  advice?(): Promise<string[]>;
  close?(): Promise<void>;
}
