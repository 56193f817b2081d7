/**
 * Locks in any store of rows with compare-and-swap. Each operation reads the header and the row,
 * applies the rule, and writes the result. It starts over if another process was faster.
 *
 * Guarantee: the full contract of LockStore, with the same rules as in every store. The header is
 * written before anything that depends on it, and a row only together with a check of the header
 * that was read.
 */
import { isNews, RowOperations, type RetryParts, type RowAttempt } from '../rows/cas-retry.js';
import {
  HEADER_KEY,
  formText,
  readForm,
  type Row,
  type RowStore,
  type StoredRow,
  type StoreReading,
  type TextForm,
} from '../rows/row-store.js';
import { nowAt, nowOf } from '../rows/store-clock.js';
import { acquireLock, extendLock, releaseLock } from './lock-rules.js';
import {
  firstTokenAt,
  forgettableFrom,
  HEADER_AGE_MS,
  KEPT_MS,
  type LockHeader,
  type LockRow,
  type LockSnapshot,
  type LockStep,
  lockNotes,
  lockRecords,
} from './lock-snapshot.js';
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
} from './lock-store.js';
import type { ReleaseNotifier } from './releases.js';

/** Higher than any sweep can reach. */
const HEADER_NUMBER = 2n ** 63n - 1n;
/** The interval at which acquire() looks for rows that are no longer needed. */
const SWEEP_MS = KEPT_MS;

/**
 * A caller with a remembered lock writes without a read, if it arrives within this time. If it dies
 * then, the lock is free that much later.
 */
const LATE_MS = 100;
const TOLD_COUNT_MAX = 1024;

/** How an operation accesses the store. */
interface Manner {
  /** The maximum age of remembered rows; absent if the operation has to read. */
  readonly lateMs?: number | undefined;
  /** The channel that announces the write. */
  readonly channel?: string | undefined;
  /** True if the store may respond before the write is on disk. */
  readonly mayBeLost?: boolean | undefined;
}

type Rule<T> = (snapshot: LockSnapshot, reading: StoreReading) => LockStep<T>;

/**
 * Locks in a store of your own.
 *
 * @throws SnowflakeError the store's errors; STORE_UNAVAILABLE if other processes keep changing the
 * rows that it read.
 */
export class RowLocks extends RowOperations implements LockStore {
  readonly untilReleased?: NonNullable<LockStore['untilReleased']>;
  readonly #releases: ReleaseNotifier | undefined;
  /** The locks with an announced release since their last request. */
  readonly #told = new Set<string>();
  #sweptMs = 0;
  /** The last header, which seldom changes. */
  #header: { readonly text: string; readonly read: LockHeader } | undefined;
  /** Resolves once all releases are announced. */
  #notified: Promise<unknown> = Promise.resolve();

  constructor(
    rows: RowStore,
    parts: RetryParts & { readonly releases?: ReleaseNotifier | undefined } = {},
  ) {
    super(rows, parts);
    const { releases } = parts;
    this.#releases = releases;
    const until = releases?.until;
    if (until === undefined) return;
    this.untilReleased = async (lock, _, signal) => {
      await until(lock, signal, () => this.#isFree(lock));
      if (signal.aborted) return;
      if (this.#told.size === TOLD_COUNT_MAX) this.#told.clear();
      this.#told.add(lock);
    };
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    const { lock } = request;
    const rule: Rule<AcquireAnswer> = (snapshot, reading) =>
      acquireLock(snapshot, request, reading);
    const isTold = this.#told.delete(lock);
    const answer = await this.#changed(lock, rule, { lateMs: LATE_MS });
    if (isTold && answer.status === 'held') this.#releases?.lost?.(lock);
    return answer;
  }

  async extend(request: ExtendRequest): Promise<ExtendAnswer> {
    checkExtend(request);
    const rule: Rule<ExtendAnswer> = (snapshot, reading) => extendLock(snapshot, request, reading);
    return this.#changed(request.lock, rule, { lateMs: LATE_MS });
  }

  async release(request: ReleaseRequest): Promise<void> {
    checkRelease(request);
    const { lock, keepMs = 0 } = request;
    // No later time is before the header's, whereas the latest observed time may have moved back
    // since.
    const atHeader = ({ header }: LockSnapshot, reading: StoreReading) =>
      reading.lateMs === undefined ? reading : { ...reading, timeMs: header!.lastTimeMs };
    const rule: Rule<boolean> = (snapshot, reading) =>
      releaseLock(snapshot, request, atHeader(snapshot, reading));
    const isNow = keepMs === 0;
    const channel = isNow ? this.#releases?.channelOf?.(lock) : undefined;
    // An end counted from now needs the current time. A release changes only the end: if it is
    // lost, the lock stays held with the same token until its ttl is over. But a release that
    // reserves the lock beyond the ttl must not be lost.
    const manner: Manner = isNow ? { lateMs: Infinity, mayBeLost: true } : {};
    const byWrite = channel !== undefined && this.#changed(lock, rule, { ...manner, channel });
    // A server that cannot or may not announce the release still performs it.
    const told = byWrite === false ? undefined : await byWrite.catch(() => undefined);
    const isReleased = told ?? (await this.#changed(lock, rule, manner));
    const isToBeTold = isReleased && isNow && told === undefined;
    // Only a shutdown waits for the announcement; a caller that misses it polls.
    const notified = isToBeTold && this.#releases?.notify(lock).catch(() => undefined);
    if (notified) this.#notified = Promise.all([this.#notified, notified]).then(() => undefined);
  }

  async #isFree(lock: string): Promise<boolean> {
    const { timeMs, rows } = await this.rows.read({ keys: [HEADER_KEY, lock] });
    const { header, row } = this.#storedIn(rows, lock);
    return row === undefined || row.untilMs <= nowAt(header!, { timeMs, ...this.clock });
  }

  async locks(): Promise<LockRecord[]> {
    const { header, named, timeMs } = await this.#all();
    return header === undefined ? [] : lockRecords(header, named, { timeMs, ...this.clock });
  }

  async notes(): Promise<LockNote[]> {
    return lockNotes((await this.#all()).named);
  }

  async #all() {
    const { timeMs, rows } = await this.rows.readAll();
    const { header } = this.#storedIn(rows);
    const named = rows
      .filter(({ key }) => key !== HEADER_KEY)
      .map(({ key: lock, text }) => ({ lock, row: parseRow(text, header) }));
    return { header, named, timeMs };
  }

  override async close(): Promise<void> {
    await this.#notified;
    await this.#releases?.close?.();
    await super.close();
  }

  /** Writes the header first. If the header changed, the row follows in the next attempt. */
  #changed<T>(lock: string, rule: Rule<T>, { lateMs, ...manner }: Manner = {}): Promise<T> {
    const attempt: RowAttempt<T> = async ({ rows, reading, refused }) => {
      const { server, timeMs } = reading;
      const isRead = reading.lateMs === undefined;
      const stored = this.#storedIn(rows, lock);
      const { headerRow, lockRow } = stored;
      const { answer, header, row } = rule(stored, reading);
      const { version: headerVersion, number: headerNumber = 0n } = headerRow ?? {};
      const rests = { server, headerVersion, headerNumber };
      const isHeaderNew = header !== undefined && isNews(stored.header, header, HEADER_AGE_MS);
      if (!isRead && (isHeaderNew || row === undefined)) return undefined;
      if (isHeaderNew) {
        const write = { ...rests, header: headerRowOf(header), rows: [] };
        const isWritten = await this.rows.write(write);
        if (isWritten === false) refused.note(headerVersion, server);
        if (isWritten !== true) return undefined;
        return row === undefined ? { answer } : { pauseMs: 0 };
      }
      if (header === undefined || row === undefined) return { answer };
      const { token, ...rest } = row;
      const text = formText({ incarnation: header.incarnation, ...rest, token });
      const next = { key: lock, number: forgettableFrom(row), text };
      const version = lockRow?.version;
      const isTimed = !isRead && lateMs !== Infinity;
      const betweenMs = isTimed ? ([timeMs, timeMs + lateMs!] as const) : undefined;
      const write = { ...rests, rows: [{ row: next, version }], betweenMs, ...manner };
      const isWritten = await this.rows.write(write);
      if (isWritten === false && isRead) refused.note(headerVersion, version, server);
      if (isWritten !== true) return undefined;
      if (isRead) await this.#sweep(nowOf(header));
      return { answer };
    };
    return this.inTurn([HEADER_KEY, lock], attempt, lateMs);
  }

  /** The snapshot, with the rows that it was read from. */
  #storedIn(rows: readonly StoredRow[], lock?: string) {
    const headerRow = rows.find(({ key }) => key === HEADER_KEY);
    const lockRow = rows.find(({ key }) => key === lock);
    const header = headerRow && this.#headerIn(headerRow.text);
    const row = lockRow && parseRow(lockRow.text, header);
    return { header, row, headerRow, lockRow };
  }

  #headerIn(text: string): LockHeader {
    if (text !== this.#header?.text) this.#header = { text, read: readForm(text, HEADER) };
    return this.#header.read;
  }

  /** Nothing depends on a sweep: the next sweep removes the rest. */
  async #sweep(nowMs: number): Promise<void> {
    if (nowMs >= this.#sweptMs && nowMs < this.#sweptMs + SWEEP_MS) return;
    const isFirst = this.#sweptMs === 0;
    this.#sweptMs = nowMs;
    // Processes that start together would all sweep at once.
    if (isFirst) return;
    // A failed sweep does not refuse a lock that was granted.
    const isFull = await this.rows.sweep?.(firstTokenAt(nowMs)).catch(() => false);
    // A minute may produce more names than one sweep removes: the next acquire continues.
    if (isFull === true) this.#sweptMs = nowMs - SWEEP_MS;
  }
}

/* Converts a lock, and the header of all locks, to and from the text that a store keeps. */

/** @param which names the text of locks @param advice what to do if it is unreadable */
export function locksForm(
  fields: Pick<TextForm, 'texts' | 'numbers' | 'bigints'>,
  which = 'A row',
  advice = 'Delete all rows of the namespace',
): TextForm {
  return {
    ...fields,
    whose: 'The locks have',
    advice:
      `${which} of the locks cannot be read: somebody else wrote into it. Nothing is granted ` +
      `by it. ${advice}; locks are granted again when those that may still be held have ended.`,
  };
}

const HEADER = locksForm({
  texts: ['incarnation', 'server'],
  numbers: ['lastTimeMs', 'slewMs', 'era', 'longestMs', 'provenMs', 'provenAtMs', 'readyAtMs'],
  bigints: ['forgottenTo'],
});
const LOCK = locksForm({
  texts: ['incarnation', 'holder', 'label'],
  numbers: ['era', 'sinceMs', 'untilMs'],
  bigints: ['token'],
});
/** In this era no lock is held. */
const NO_ERA = 0;

export function headerRowOf(header: LockHeader): Row {
  return { key: HEADER_KEY, number: HEADER_NUMBER, text: formText(header) };
}

/**
 * @param header the current header; a row from before the header was recreated has no known holder
 * @throws SnowflakeError STORE_UNAVAILABLE, not retryable
 */
function parseRow(text: string, header: LockHeader | undefined): LockRow {
  const fields = readForm<LockRow & { readonly incarnation: string }>(text, LOCK);
  const { token, holder, label, sinceMs, untilMs, note } = fields;
  const era = fields.incarnation === header?.incarnation ? fields.era : NO_ERA;
  const left = typeof note === 'string' && { note };
  return { token, holder, label, era, sinceMs, untilMs, ...left };
}
