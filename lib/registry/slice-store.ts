/**
 * What a store has to offer to keep a registry when it runs no script of ours: two ways of reading
 * and one of writing. `RegistrySupport` does the rest.
 *
 * A registry is a handful of rows: one header and one row for each worker id that was ever leased.
 * The store keeps them, counts how often each was written, and never has to understand them.
 */
import type { ClockPolicy } from '../rows/store-clock.js';
import type { Finding } from './registry-view.js';

/** The worker id of the header's row, which no generator has. */
export const HEADER_ID = -1;

/** One row of a registry in a store: its header, or one worker id. */
export interface RegistryRow {
  /** `HEADER_ID` for the header, else from 0 up. */
  readonly workerId: number;
  /**
   * Where the range granted last ends, in Unix milliseconds; in the header the time up to which the
   * registry has told it.
   */
  readonly ceilingMs: number;
  /** Of the holder, at most 200 characters; absent where nobody holds the worker id. */
  readonly token?: string | undefined;
  /** All the rest, as JSON of at most a few thousand characters. */
  readonly text: string;
}

/** A row as it is stored, with the version by which a change of it is noticed. */
export interface StoredRow extends RegistryRow {
  /**
   * A whole number below 2^53 that rises with every write of the row, but for one that
   * `isTimeOnly`. A header that is made again must not begin with a version that it ever had
   * before: begin with a random one, or with one from a counter that outlives the rows.
   */
  readonly version: number;
}

/** Which rows to read besides the header. */
export interface SliceQuestion {
  readonly workerIds: readonly number[];
  /** The row with this token as well, if there is one. */
  readonly token?: string | undefined;
}

/** Rows that were read at one moment, with what the store said of itself at that moment. */
export interface RegistrySlice {
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
   * True where the store can tell that the header is not as its last write left it: a copy that was
   * put back while the server ran, which counts as a loss of data.
   */
  readonly isPutBack?: boolean | undefined;
  /** The header, where there is one, and the rows asked for that exist, in any order. */
  readonly rows: readonly StoredRow[];
}

/** One row to write, as it shall be. */
export interface RowWrite {
  readonly row: RegistryRow;
  /** As it was read; undefined where the row was not there. */
  readonly version: number | undefined;
}

/** What to write: each row only if nothing of what it rests on has changed since it was read. */
export interface SliceWrite {
  /** That answered when the slice was read. */
  readonly server: string;
  /** Of the header as it was read; undefined where there was none. */
  readonly headerVersion: number | undefined;
  /** Of the header as it was read; 0 where there was none. */
  readonly headerCeilingMs: number;
  /** The new header, absent where it stays as it is. */
  readonly header?: RegistryRow | undefined;
  /**
   * True where nothing but the ceiling of the header is new. What others read stays valid then, so
   * that the header keeps its version; a store that cannot do that writes it as any header.
   */
  readonly isTimeOnly?: boolean | undefined;
  readonly rows: readonly RowWrite[];
}

/**
 * A store of rows with compare-and-swap.
 *
 * Failures are thrown as SnowflakeErrors, best STORE_UNAVAILABLE; what was changed by somebody else
 * meanwhile is no failure but the answer false.
 */
export interface SliceStore {
  /** Where the registry lies, in words for the operator, without secrets. */
  readonly location: string;
  /** As `IDistributedSupport.lossWindowMs`. */
  readonly lossWindowMs: number;
  /** Default `slewed`; `highest` for a store of several servers, whose clocks differ. */
  readonly clock?: ClockPolicy | undefined;
  /**
   * True where a step is not taken only for a change of what it names, as in a database of rows:
   * one that is refused again and again without such a change is reported as swallowed. A store
   * that compares more, such as a whole document, leaves it out.
   */
  readonly comparesRows?: boolean | undefined;
  read(question: SliceQuestion): Promise<RegistrySlice>;
  /**
   * The rows of the registry for a list, by which nothing is granted: a store with many of them
   * reads page by page, each at its own moment, and may leave out rows whose ceiling is 0.
   * @param countMax so many worker ids are enough, whichever; absent for all
   */
  readAll(countMax?: number): Promise<RegistrySlice>;
  /**
   * Worker ids and ceilings of the rows between two worker ids, both included; for a store that
   * reads these faster than whole rows.
   */
  ceilings?(min: number, max: number): Promise<Pick<RegistryRow, 'workerId' | 'ceilingMs'>[]>;
  /**
   * The header, then each row in order; in one atomic step, or one step for each. A step is taken
   * only if the server is the one named, the header has the version named (or is the one just
   * written), and the row has its own; that of a header only if it has the ceiling named as well.
   * One that `isTimeOnly` raises a ceiling that is lower, and else has nothing to do. Where worker
   * ids are used for the first time, up to 128 rows that are not there come at once: a store may
   * make them in one step.
   *
   * @returns false where a step was not taken, or undefined where the store says that others were
   *   at it; those before it may have been
   */
  write(write: SliceWrite): Promise<boolean | undefined>;
  /** As `IDistributedSupport.advice`. */
  advice?(): Promise<string[]>;
  /** What `snowflake doctor` says of the server and its settings, besides the advice. */
  findings?(): Promise<Finding[]>;
  close?(): Promise<void>;
}
