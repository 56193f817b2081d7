/**
 * The contract of a store without this package's scripts: rows with compare-and-swap. A class that
 * implements `RowStore` can provide worker IDs (`RegistrySupport`), counters (`RowCounters`), and
 * locks (`RowLocks`).
 *
 * One store object keeps only one of these three, in one namespace. It stores rows and counts the
 * writes of each, but never interprets them.
 */
import { isDecimalId } from '../core/text/decimal.js';
import { SnowflakeError } from '../errors.js';
import { cutName } from '../messages.js';
import type { HolderLabel } from '../time/process-identity.js';
import { systemTimers, withinLimit, type Timers } from '../time/timers.js';
import type { ClockPolicy } from './store-clock.js';

/** The key of the header; the other rows of a registry, or all locks, depend on it. */
export const HEADER_KEY = '|';

/** A row to store. */
export interface Row {
  /**
   * 1 to 128 characters without spaces: the name of a counter or a lock, the digits of a worker ID,
   * or `HEADER_KEY`.
   */
  readonly key: string;
  /**
   * A number from 0n, below 2^63. For a counter, the next position. For a lock, the time when its
   * row may be deleted. For a worker ID, the end of its range in Unix milliseconds. In the header
   * of a registry, its time.
   */
  readonly number: bigint;
  /** Rows of a registry can also be looked up by this text: at most 200 characters, or absent. */
  readonly token?: string | undefined;
  /** The rest of the row, as JSON of at most a few thousand characters. */
  readonly text: string;
}

/** A stored row, with a version that detects changes. */
export interface StoredRow extends Row {
  /**
   * A whole number below 2^53 that rises with every write of the row, except a write that
   * `isTimeOnly`. A worker ID's version rises by exactly one, since its holder counts its writes to
   * detect lost ones. A recreated row must not repeat an earlier version: start with a random
   * version, or with a counter that outlives the rows.
   */
  readonly version: number;
}

/** The rows to read; additional rows are harmless. */
export interface RowQuery {
  readonly keys: readonly string[];
  /** Also the row with this token, if there is one. */
  readonly token?: string | undefined;
}

/** Rows from a read at one moment, with facts about the store at that moment. */
export interface RowSnapshot {
  /** The clock of the store, in Unix milliseconds, never that of this process. */
  readonly timeMs: number;
  /** The resolution of that clock, in milliseconds; default 1. */
  readonly resolutionMs?: number | undefined;
  /**
   * Identifies the responding server or cluster, and its start. It changes whenever acknowledged
   * writes may be lost: with a restart, a failover, or a restored backup.
   */
  readonly server: string;
  /**
   * True if the store detects that a row differs from its last write. The row was restored from a
   * copy while the server ran, which counts as a loss of data.
   */
  readonly isPutBack?: boolean | undefined;
  /** True if the store detects that this same server was replaced and then became active again. */
  readonly isLeft?: boolean | undefined;
  /** The existing rows, in any order. */
  readonly rows: readonly StoredRow[];
}

/** A row to write. */
export interface RowChange {
  readonly row: Row;
  /** The version that was read; undefined if the row was absent. */
  readonly version: number | undefined;
}

/** The rows to write, each only if its dependencies have not changed since they were read. */
export interface RowWrite {
  /** The server that responded to the read of the rows. */
  readonly server: string;
  /** The version of the header that was read; undefined if there was none, as for counters. */
  readonly headerVersion: number | undefined;
  /** The number of the header that was read; 0n if there was none. */
  readonly headerNumber: bigint;
  /** The new header; absent if it stays unchanged. */
  readonly header?: Row | undefined;
  /**
   * True if only the header's number is new. Rows in other processes' snapshots then stay valid, so
   * the header keeps its version. A store that cannot do this writes the header normally.
   */
  readonly isTimeOnly?: boolean | undefined;
  readonly rows: readonly RowChange[];
  /**
   * Nothing is written unless the store's clock is between these two times, inclusive. They come
   * with `remembered` rows, which may have been restored from a copy since: the write must detect
   * what a read would detect.
   */
  readonly betweenMs?: readonly [number, number] | undefined;
  /** A store with messages announces the write on this channel, in the same step. */
  readonly channel?: string | undefined;
  /**
   * True if this write grants nothing to any process: the store may respond before the write is on
   * disk, if no later write can survive without it.
   */
  readonly mayBeLost?: boolean | undefined;
}

/**
 * A store of rows with compare-and-swap.
 *
 * Failures are thrown as SnowflakeErrors, preferably STORE_UNAVAILABLE. A concurrent change by
 * another process is no failure but the result false.
 */
export interface RowStore {
  /** The location of the rows, as text for operators without secrets. */
  readonly location: string;
  /** The name of the ID space, as a label of metrics; absent if it has none. */
  readonly namespace?: string | undefined;
  /** Becomes the `lossWindowMs` of the support, counters, or locks in this store. */
  readonly lossWindowMs: number;
  /** Default `slewed`; `highest` for a store of several servers, whose clocks differ. */
  readonly clock?: ClockPolicy | undefined;
  /**
   * True if a step is refused only after a change of the rows that it names, as in a database of
   * rows. A step that is refused repeatedly without such a change is then reported as an error. A
   * store that compares more, such as a whole document, omits this.
   */
  readonly comparesRows?: boolean | undefined;
  /**
   * The maximum age of the time in a registry's header before it is written; part of the loss
   * window. Default 1,000; 0 for a store that writes it together with a row at no cost.
   */
  readonly headerAgeMs?: number | undefined;
  /** As in `StoreReading`. */
  readonly keepsAfterMs?: number | undefined;
  /** Reads in one atomic step. */
  read(query: RowQuery): Promise<RowSnapshot>;
  /**
   * Reads all rows for a list, which is never the basis of a grant. A store with many rows reads
   * page by page, each at its own moment, and may omit worker IDs whose number is 0.
   * @param countMax the maximum number of rows apart from the header, in any order; absent for all
   */
  readAll(countMax?: number): Promise<RowSnapshot>;
  /**
   * Reads keys and numbers of a span of worker IDs, both ends inclusive; for a store that reads
   * these faster than whole rows.
   */
  ceilings?(min: number, max: number): Promise<Pick<Row, 'key' | 'number'>[]>;
  /**
   * Returns the rows as this store last read, wrote, or was notified of them, without a request,
   * and the latest observed time; undefined if a row is unknown. They never cause a refusal, and a
   * write based on them succeeds only if they are unchanged.
   */
  remembered?(keys: readonly string[]): RowSnapshot | undefined;
  /**
   * Writes the header, then each row in order, in one atomic step or in one step for each. A step
   * succeeds only if the server is the named one, the header has the named version (or was just
   * written), and the row has its named version. The step of a header also requires the named
   * number. A header that `isTimeOnly` raises a lower number, and otherwise does nothing. At the
   * first use of worker IDs, up to 128 absent rows arrive at once: a store may create them in one
   * step.
   *
   * @returns false if a step was refused, or undefined if the store reports concurrent writers;
   * earlier steps may have succeeded
   */
  write(write: RowWrite): Promise<boolean | undefined>;
  /**
   * Deletes rows with a lower number, a few thousand at most; for locks, whose names come and go.
   * Without this method, a store keeps every name forever.
   * @returns true if more such rows may exist
   */
  sweep?(below: bigint): Promise<boolean>;
  /** One sentence for each risk to the rows, for the log of each process. */
  advice?(): Promise<string[]>;
  close?(): Promise<void>;
}

/** The facts that a store adds to an operation. */
export interface StoreReading extends Omit<RowSnapshot, 'rows'> {
  /** How far the store's clock may advance until the write; default 0. */
  readonly lateMs?: number | undefined;
  /** The incarnation for a registry created now. */
  readonly random: string;
  readonly lossWindowMs: number;
  /**
   * The age from which no server loses a write, if losses of newer writes are undetectable. A range
   * is then granted only at that age. Default 0: every loss is detectable.
   */
  readonly keepsAfterMs?: number | undefined;
  /** Default `slewed`. */
  readonly clock?: ClockPolicy | undefined;
}

/*
 * Reads the fields of a stored text. It is JSON of this package, but another program may have
 * changed it.
 */

/** Returns no fields if the text is not JSON or not an object. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** True if all `texts` are strings and all `numbers` whole numbers. */
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

/** Reads a position, a token, or an amount from decimal text; undefined for any other value. */
export function numberIn(text: unknown): bigint | undefined {
  return typeof text === 'string' && isDecimalId(text) ? BigInt(text) : undefined;
}

/*
 * A counter, a lock, or the header of all locks, as text in a store.
 *
 * Guarantee: a text reads back as it was written. An unreadable text is refused, never treated as
 * absent.
 */

/** The version of the protocol. A text of another version stays unchanged. */
const VERSION = '1';

/** The required fields of a text, which may have others. */
export interface TextForm {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  /** Numbers that may exceed a Number, stored as decimal text. */
  readonly bigints: readonly string[];
  /** The subject for messages, such as `The locks have` or `The counter has`. */
  readonly whose: string;
  /** The consequence of an unreadable text, and what to do. */
  readonly advice: string;
}

export function formText(fields: object): string {
  const stored: Record<string, unknown> = { version: VERSION, ...fields };
  const bigints = Object.keys(stored).filter((name) => typeof stored[name] === 'bigint');
  for (const name of bigints) stored[name] = String(stored[name]);
  return JSON.stringify(stored);
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for a text of another form */
export function readForm<T>(text: string, form: TextForm): T {
  const { version, ...fields }: Record<string, unknown> = fieldsIn(text);
  for (const name of form.bigints) fields[name] = numberIn(fields[name]);
  const isReadable = form.bigints.every((name) => fields[name] !== undefined);
  if (version === VERSION && isReadable && isWhole(fields, form.texts, form.numbers)) {
    return fields as T;
  }
  const isOther = typeof version === 'string' && version !== VERSION;
  const message = isOther
    ? `${form.whose} a protocol version that this package does not know. Nothing was changed. ` +
      'Use one version of nestjs-snowflake for all of the namespace.'
    : form.advice;
  throw new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}

/*
 * Formats the label of a holder for display.
 *
 * Guarantee: any value produces a label, with parts short enough for a table.
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
 * Concurrent reads of one store in a process: those that arrive during a read share the next one.
 *
 * Guarantee: each caller gets data read after its arrival. A read that hangs delays no caller for
 * longer than `WAIT_MS_MAX`.
 */

/** An etcd transaction has at most 128 operations by default. */
const PART_COUNT_MAX = 100;
const WAIT_MS_MAX = 50;

/** The combined requests of several callers. */
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
  /** Resolves once the next read may be sent. */
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
    // The next read does not get the error of this one.
    const ended = answer.then(over, over);
    this.#isFree = withinLimit(ended, { timers: this.timers, ms: WAIT_MS_MAX, over });
    return answer;
  }
}
