/**
 * The contract of a store that runs no script of ours: rows with compare-and-swap. A class that
 * implements `RowStore` gets worker IDs (`RegistrySupport`), counters (`RowCounters`) and locks
 * (`RowLocks`).
 *
 * One store object keeps one of these three, in one namespace. It keeps rows, counts how often each
 * was written, and never has to understand them.
 */
import { isDecimalId } from '../core/text/decimal.js';
import { SnowflakeError } from '../errors.js';
import { cutName } from '../messages.js';
import type { HolderLabel } from '../time/process-identity.js';
import { systemTimers, withinLimit, type Timers } from '../time/timers.js';
import type { ClockPolicy } from './store-clock.js';

/** The key of the header; the other rows of a registry, or all locks, depend on it. */
export const HEADER_KEY = '|';

/** A row to be stored. */
export interface Row {
  /**
   * 1 to 128 characters without spaces: the name of a counter or a lock, the digits of a worker ID,
   * or `HEADER_KEY`.
   */
  readonly key: string;
  /**
   * A number from 0n, below 2^63: the next position of a counter; the time when a lock may be
   * forgotten; the end of the range of a worker ID in Unix milliseconds; in the header of a
   * registry its time.
   */
  readonly number: bigint;
  /** Rows of a registry are looked up by this text as well: at most 200 characters, or absent. */
  readonly token?: string | undefined;
  /** The rest of the row, as JSON of at most a few thousand characters. */
  readonly text: string;
}

/** A row as it is stored, with the version by which a change of it is noticed. */
export interface StoredRow extends Row {
  /**
   * A whole number below 2^53 that rises with every write of the row, but for one that
   * `isTimeOnly`. That of a worker ID rises by exactly one, since its holder counts its writes to
   * notice those that are lost. A row that is made again must not have a version that it ever had
   * before: begin with a random one, or with one from a counter that outlives the rows.
   */
  readonly version: number;
}

/** The rows to read; more than were asked for do no harm. */
export interface RowQuery {
  readonly keys: readonly string[];
  /** The row with this token as well, if there is one. */
  readonly token?: string | undefined;
}

/** Rows that were read at one moment, with facts about the store at that moment. */
export interface RowSnapshot {
  /** The clock of the store, in Unix milliseconds, never that of this process. */
  readonly timeMs: number;
  /** How coarse that clock is, in milliseconds; default 1. */
  readonly resolutionMs?: number | undefined;
  /**
   * Identifies the server or cluster that answered, and its start. It changes whenever acknowledged
   * writes may be gone: with a restart, a failover, a restored backup.
   */
  readonly server: string;
  /**
   * True if the store can tell that a row is not as its last write left it: a copy that was put
   * back while the server ran, which counts as a loss of data.
   */
  readonly isPutBack?: boolean | undefined;
  /** True if the store knows that this very server was left for another one, and led back to. */
  readonly isLeft?: boolean | undefined;
  /** The rows that exist, in any order. */
  readonly rows: readonly StoredRow[];
}

/** One row to write. */
export interface RowChange {
  readonly row: Row;
  /** The version that was read; undefined if the row was absent. */
  readonly version: number | undefined;
}

/** The rows to write, each only if nothing that it depends on has changed since it was read. */
export interface RowWrite {
  /** The server that answered when the rows were read. */
  readonly server: string;
  /** The version of the header that was read; undefined if there was none, as for counters. */
  readonly headerVersion: number | undefined;
  /** The number of the header that was read; 0n if there was none. */
  readonly headerNumber: bigint;
  /** The new header, absent if it stays as it is. */
  readonly header?: Row | undefined;
  /**
   * True if only the number of the header is new. Rows that others have read stay valid then, so
   * the header keeps its version; a store that cannot do that writes it as any header.
   */
  readonly isTimeOnly?: boolean | undefined;
  readonly rows: readonly RowChange[];
  /**
   * Nothing is written unless the clock of the store is between these two, both included. They are
   * given with rows that were `remembered`, which may have been put back since: what a read would
   * notice then, the write has to.
   */
  readonly betweenMs?: readonly [number, number] | undefined;
  /** A store that has messages tells of the rows on this channel, in the same step. */
  readonly channel?: string | undefined;
  /**
   * True if nobody is granted anything by this write itself: a store may answer before it is on
   * disk, if it keeps no later write without it.
   */
  readonly mayBeLost?: boolean | undefined;
}

/**
 * A store of rows with compare-and-swap.
 *
 * Failures are thrown as SnowflakeErrors, best STORE_UNAVAILABLE; a change that another process
 * made meanwhile is no failure but the answer false.
 */
export interface RowStore {
  /** Describes for the operator where the rows lie, without secrets. */
  readonly location: string;
  /** The name of the ID space, by which metrics tell one from another; absent without one. */
  readonly namespace?: string | undefined;
  /** Becomes the `lossWindowMs` of the support, counters or locks in this store. */
  readonly lossWindowMs: number;
  /** Default `slewed`; `highest` for a store of several servers, whose clocks differ. */
  readonly clock?: ClockPolicy | undefined;
  /**
   * True if a step is refused only for a change of what it names, as in a database of rows: a step
   * that is refused again and again without such a change is reported as swallowed. A store that
   * compares more, such as a whole document, leaves it out.
   */
  readonly comparesRows?: boolean | undefined;
  /**
   * How old the time in the header of a registry may get before it is written; part of the loss
   * window. Default 1,000; 0 for a store that writes it together with a row at no cost.
   */
  readonly headerAgeMs?: number | undefined;
  /** As in `StoreReading`. */
  readonly keepsAfterMs?: number | undefined;
  /** Reads in one atomic step. */
  read(query: RowQuery): Promise<RowSnapshot>;
  /**
   * Reads all rows for a list, by which nothing is granted: a store with many of them reads page by
   * page, each at its own moment, and may leave out worker IDs whose number is 0.
   * @param countMax so many rows besides the header are enough, whichever; absent for all
   */
  readAll(countMax?: number): Promise<RowSnapshot>;
  /**
   * Reads keys and numbers of the worker IDs between two, both included; for a store that reads
   * these faster than whole rows.
   */
  ceilings?(min: number, max: number): Promise<Pick<Row, 'key' | 'number'>[]>;
  /**
   * The rows as this store has last read them, written them or been told of them, without asking,
   * and the latest time that it has seen; undefined if one is not known. Nobody is refused by them,
   * and what is written by them is written only if they stand as before.
   */
  remembered?(keys: readonly string[]): RowSnapshot | undefined;
  /**
   * Writes the header, then each row in order, in one atomic step or in one step for each. A step
   * is carried out only if the server is the one named, the header has the version named (or is the
   * one just written), and the row has its own; that of a header only if it has the number named as
   * well. A header that `isTimeOnly` raises a lower number, and else does nothing. If worker IDs
   * are used for the first time, up to 128 absent rows come at once: a store may make them in one
   * step.
   *
   * @returns false if a step was refused, or undefined if the store says that others were
   * at it; steps before it may have been carried out
   */
  write(write: RowWrite): Promise<boolean | undefined>;
  /**
   * Deletes rows with a lower number, some thousands at most; for locks, whose names come and go.
   * Without it a store keeps every name for ever.
   * @returns true if there may be more of them
   */
  sweep?(below: bigint): Promise<boolean>;
  /** One sentence for each danger to the rows, for the log of each process. */
  advice?(): Promise<string[]>;
  close?(): Promise<void>;
}

/** The facts that a store adds to an operation. */
export interface StoreReading extends Omit<RowSnapshot, 'rows'> {
  /** How much the store's clock may have gone on until something is written; default 0. */
  readonly lateMs?: number | undefined;
  /** Becomes the incarnation of a registry created now. */
  readonly random: string;
  readonly lossWindowMs: number;
  /**
   * How old a write must be before no server forgets it, where a loss of younger ones shows in
   * nothing; then a range is granted only once it is as old. Default 0: each loss shows.
   */
  readonly keepsAfterMs?: number | undefined;
  /** Default `slewed`. */
  readonly clock?: ClockPolicy | undefined;
}

/*
 * The fields of a text that a store keeps. It is our JSON, but another program may have changed it.
 */

/** Returns no fields if the text is no JSON, or no object. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** True if all `texts` are texts, and all `numbers` whole numbers. */
export function isWhole(
  fields: Readonly<Record<string, unknown>>,
  texts: readonly string[],
  numbers: readonly string[],
): boolean {
  return (
    texts.every((name) => typeof fields[name] === 'string') &&
    numbers.every((name) => Number.isSafeInteger(fields[name]))
  );
}

/** Reads a position, a token or an amount as decimal text; undefined for any other value. */
export function numberIn(text: unknown): bigint | undefined {
  return typeof text === 'string' && isDecimalId(text) ? BigInt(text) : undefined;
}

/*
 * A counter, a lock, or the header of all locks, as the text that a store keeps.
 *
 * Guarantee: a text is read back as it was written. One that cannot be read is refused, and never
 * taken for an absent one.
 */

/** The version of the protocol. A text of another version is left alone. */
const VERSION = '1';

/** The fields that a text must have; it may have others. */
export interface TextForm {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  /** They may not fit a Number, and are kept as decimal text. */
  readonly bigints: readonly string[];
  /** Names what it describes, as `The locks have` or `The counter has`. */
  readonly whose: string;
  /** What an unreadable text means, and what to do. */
  readonly advice: string;
}

export function formText(fields: object): string {
  const digits = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return JSON.stringify({ version: VERSION, ...fields }, digits);
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for a text that is not of the form */
export function readForm<T>(text: string, form: TextForm): T {
  const { version, ...fields } = fieldsIn(text);
  const bigints = form.bigints.map((name) => [name, numberIn(fields[name])] as const);
  const isReadable = bigints.every(([, number]) => number !== undefined);
  if (version === VERSION && isReadable && isWhole(fields, form.texts, form.numbers)) {
    return { ...fields, ...Object.fromEntries(bigints) } as T;
  }
  const isOther = typeof version === 'string' && version !== VERSION;
  const message = isOther
    ? `${form.whose} a protocol version that this package does not know. Nothing was changed. ` +
      'Use one version of nestjs-snowflake for all of the namespace.'
    : form.advice;
  throw new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}

/*
 * Reads the label of a holder, for people.
 *
 * Guarantee: any value gives a label, and its parts are short enough for a table.
 */

const UNREADABLE = '(unreadable)';

export function labelOf(value: unknown): HolderLabel {
  const label = Object(value) as Record<keyof HolderLabel, unknown>;
  const { host, pid, application, version, workerIds } = label;
  return {
    host: nameOf(host),
    pid: Number.isSafeInteger(pid) ? (pid as number) : 0,
    application: nameOf(application),
    ...(version !== undefined && { version: nameOf(version) }),
    ...(workerIds !== undefined && { workerIds: nameOf(workerIds) }),
  };
}

const nameOf = (part: unknown): string => (typeof part === 'string' ? cutName(part) : UNREADABLE);

/*
 * Reads of one store that come while one of the same process is under way: they share the next.
 *
 * Guarantee: each is answered by what was read after it came. One that hangs keeps nobody waiting
 * for longer than `WAIT_MS_MAX`.
 */

/** A transaction of etcd has room for 128 questions by default. */
const PART_COUNT_MAX = 100;
const WAIT_MS_MAX = 50;

/** What several have asked for. */
export interface SharedQuery {
  readonly keys: readonly string[];
  readonly tokens: readonly string[];
}

interface Gathered<T> {
  readonly keys: Set<string>;
  readonly tokens: Set<string>;
  readonly answer: Promise<T>;
}

export class SharedReads<T> {
  /** The read that has not been sent yet. */
  #next: Gathered<T> | undefined;
  /** Resolves once the next may be sent. */
  #isFree: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly ask: (query: SharedQuery) => Promise<T>,
    private readonly timers: Timers = systemTimers,
  ) {}

  read({ keys, token }: RowQuery): Promise<T> {
    const next = this.#nextFor(keys.length + 1);
    for (const key of keys) next.keys.add(key);
    if (token !== undefined) next.tokens.add(token);
    return next.answer;
  }

  #nextFor(partCount: number): Gathered<T> {
    const known = this.#next;
    const gatheredCount = known === undefined ? 0 : known.keys.size + known.tokens.size;
    if (known !== undefined && gatheredCount + partCount <= PART_COUNT_MAX) return known;
    const [keys, tokens] = [new Set<string>(), new Set<string>()];
    const answer = this.#isFree.then(() => {
      if (this.#next === next) this.#next = undefined;
      return this.#sent({ keys: [...keys], tokens: [...tokens] });
    });
    const next = { keys, tokens, answer };
    this.#next = next;
    return next;
  }

  #sent(query: SharedQuery): Promise<T> {
    const answer = this.ask(query);
    const over = () => undefined;
    // The next one does not get the error of this one.
    const ended = answer.then(over, over);
    this.#isFree = withinLimit(ended, { timers: this.timers, ms: WAIT_MS_MAX, over });
    return answer;
  }
}
