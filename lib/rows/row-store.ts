/**
 * What a store has to offer when it runs no script of ours: rows with compare-and-swap. Whoever
 * implements `RowStore` gets worker ids (`RegistrySupport`), counters (`RowCounters`) and locks
 * (`RowLocks`).
 *
 * One store object keeps one of these three, in one namespace. It keeps rows, counts how often each
 * was written, and never has to understand them.
 */
import type { ClockPolicy } from './store-clock.js';

/** The key of the header, on which the other rows of a registry, or all locks, rest. */
export const HEADER_KEY = '|';

/** A row as it shall be. */
export interface Row {
  /**
   * 1 to 128 characters without spaces: the name of a counter or a lock, the digits of a worker id,
   * or `HEADER_KEY`.
   */
  readonly key: string;
  /**
   * From 0n, below 2^63: the next position of a counter, when a lock may be forgotten, where the
   * range of a worker id ends in Unix milliseconds; in the header of a registry its time.
   */
  readonly number: bigint;
  /** By which a row of a registry is looked up as well: at most 200 characters, or absent. */
  readonly token?: string | undefined;
  /** All the rest, as JSON of at most a few thousand characters. */
  readonly text: string;
}

/** A row as it is stored, with the version by which a change of it is noticed. */
export interface StoredRow extends Row {
  /**
   * A whole number below 2^53 that rises with every write of the row, but for one that
   * `isTimeOnly`. A row that is made again must not have a version that it ever had before: begin
   * with a random one, or with one from a counter that outlives the rows.
   */
  readonly version: number;
}

/** Which rows to read; more than were asked for do no harm. */
export interface RowQuery {
  readonly keys: readonly string[];
  /** The row with this token as well, if there is one. */
  readonly token?: string | undefined;
}

/** Rows that were read at one moment, with what the store said of itself at that moment. */
export interface RowSnapshot {
  /** The clock of the store, in Unix milliseconds, never that of this process. */
  readonly timeMs: number;
  /** How coarse that clock is, in milliseconds; default 1. */
  readonly resolutionMs?: number | undefined;
  /**
   * Which server, or which cluster, answered and since when it has run. It changes whenever writes
   * that were acknowledged may be gone: with a restart, a failover, a restored backup.
   */
  readonly server: string;
  /**
   * True where the store can tell that a row is not as its last write left it: a copy that was put
   * back while the server ran, which counts as a loss of data.
   */
  readonly isPutBack?: boolean | undefined;
  /** Those that exist, in any order. */
  readonly rows: readonly StoredRow[];
}

/** One row to write. */
export interface RowChange {
  readonly row: Row;
  /** As it was read; undefined where the row was not there. */
  readonly version: number | undefined;
}

/** What to write: each row only if nothing of what it rests on has changed since it was read. */
export interface RowWrite {
  /** That answered when the rows were read. */
  readonly server: string;
  /** Of the header as it was read; undefined where there was none, as for counters. */
  readonly headerVersion: number | undefined;
  /** Of the header as it was read; 0n where there was none. */
  readonly headerNumber: bigint;
  /** The new header, absent where it stays as it is. */
  readonly header?: Row | undefined;
  /**
   * True where nothing but the number of the header is new. What others read stays valid then, so
   * that the header keeps its version; a store that cannot do that writes it as any header.
   */
  readonly isTimeOnly?: boolean | undefined;
  readonly rows: readonly RowChange[];
}

/**
 * A store of rows with compare-and-swap.
 *
 * Failures are thrown as SnowflakeErrors, best STORE_UNAVAILABLE; what was changed by somebody else
 * meanwhile is no failure but the answer false.
 */
export interface RowStore {
  /** Where the rows lie, in words for the operator, without secrets. */
  readonly location: string;
  /** As `lossWindowMs` of what is made of it. */
  readonly lossWindowMs: number;
  /** Default `slewed`; `highest` for a store of several servers, whose clocks differ. */
  readonly clock?: ClockPolicy | undefined;
  /**
   * True where a step is not taken only for a change of what it names, as in a database of rows:
   * one that is refused again and again without such a change is reported as swallowed. A store
   * that compares more, such as a whole document, leaves it out.
   */
  readonly comparesRows?: boolean | undefined;
  /** In one atomic step. */
  read(query: RowQuery): Promise<RowSnapshot>;
  /**
   * All rows for a list, by which nothing is granted: a store with many of them reads page by page,
   * each at its own moment, and may leave out worker ids whose number is 0.
   * @param countMax so many rows besides the header are enough, whichever; absent for all
   */
  readAll(countMax?: number): Promise<RowSnapshot>;
  /**
   * Keys and numbers of the worker ids between two, both included; for a store that reads these
   * faster than whole rows.
   */
  ceilings?(min: number, max: number): Promise<Pick<Row, 'key' | 'number'>[]>;
  /**
   * The header, then each row in order; in one atomic step, or one step for each. A step is taken
   * only if the server is the one named, the header has the version named (or is the one just
   * written), and the row has its own; that of a header only if it has the number named as well.
   * One that `isTimeOnly` raises a number that is lower, and else has nothing to do. Where worker
   * ids are used for the first time, up to 128 rows that are not there come at once: a store may
   * make them in one step.
   *
   * @returns false where a step was not taken, or undefined where the store says that others were
   *   at it; those before it may have been
   */
  write(write: RowWrite): Promise<boolean | undefined>;
  /**
   * Deletes rows whose number is less, some thousands at most; for locks, whose names come and go.
   * Without it a store keeps every name for ever.
   * @returns true where there may be more of them
   */
  sweep?(below: bigint): Promise<boolean>;
  /** What endangers the rows, one sentence each, for the log of each process. */
  advice?(): Promise<string[]>;
  close?(): Promise<void>;
}

/** What the store itself brings to an operation. */
export interface StoreReading {
  readonly timeMs: number;
  /** Identity of the server, or of the cluster, that answers: another one may have lost data. */
  readonly server: string;
  /** True where what was read is a copy that was put back, on the server as it runs. */
  readonly isPutBack?: boolean | undefined;
  /** True where the store knows that this very server was left for another one, and led back to. */
  readonly isLeft?: boolean | undefined;
  /** Becomes the incarnation of a registry created now. */
  readonly random: string;
  readonly lossWindowMs: number;
  /** Default `slewed`. */
  readonly clock?: ClockPolicy | undefined;
}
