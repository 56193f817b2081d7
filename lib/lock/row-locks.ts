/**
 * Locks in any store of rows with compare-and-swap: read the header and the row, apply the rule,
 * write what it says, and begin again where somebody else was faster. It is in one file, since what
 * is read and what is written belong together.
 *
 * Guarantee: the contract of LockStore in full, by the rules of every lock. The header is written
 * before whatever rests on it, and a row only beside the header that was read.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import type { KeyedRows, StoredKeyedRow } from '../rows/row-store.js';
import { CasRetry, type RefusedWrites, type RowTurnsParts } from '../rows/cas-retry.js';
import { nowAt, nowOf, slewed } from '../rows/store-clock.js';
import { fieldsIn, isWhole, numberIn } from '../rows/stored-fields.js';
import { acquireLock, extendLock, releaseLock } from './lock-rules.js';
import {
  firstTokenAt,
  forgettableFrom,
  HEADER_AGE_MS,
  KEPT_MS,
  type LockHeader,
  type LockReading,
  type LockRow,
  type LockSlice,
  type LockStep,
  lockRecords,
} from './lock-slice.js';
import {
  checkAcquire,
  checkExtend,
  checkRelease,
  type AcquireAnswer,
  type AcquireRequest,
  type ExtendAnswer,
  type ExtendRequest,
  type LockRecord,
  type LockStore,
  type ReleaseRequest,
} from './lock-store.js';
import type { ReleaseTelling } from './releases.js';

/** No lock has this name. */
export const HEADER_KEY = '|';
/** No sweep reaches it. */
const HEADER_NUMBER = 2n ** 63n - 1n;
/** So often one of those who acquire looks for rows that nobody needs. */
const SWEEP_MS = KEPT_MS;

type Rule<T> = (slice: LockSlice, reading: LockReading) => LockStep<T>;

/** What was read. */
interface Stored extends LockSlice {
  readonly headerRow: StoredKeyedRow | undefined;
  readonly lockRow: StoredKeyedRow | undefined;
}

/** Locks around a store of rows of your own. */
export class RowLocks implements LockStore {
  readonly location: string;
  readonly lossWindowMs: number;
  readonly #rows: KeyedRows;
  readonly untilReleased?: NonNullable<LockStore['untilReleased']>;
  readonly #turns: CasRetry;
  readonly #releases: ReleaseTelling | undefined;
  #sweptMs = 0;
  /** All releases are told. */
  #told: Promise<unknown> = Promise.resolve();

  constructor(rows: KeyedRows, parts: RowTurnsParts & { readonly releases?: ReleaseTelling } = {}) {
    const { releases } = parts;
    this.#rows = rows;
    this.#turns = new CasRetry(rows.location, parts);
    this.#releases = releases;
    this.location = rows.location;
    this.lossWindowMs = rows.lossWindowMs;
    const until = releases?.until;
    if (until === undefined) return;
    this.untilReleased = (lock, _, signal) => until(lock, signal, () => this.#isFree(lock));
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    checkAcquire(request);
    return this.#inTurn(request.lock, (slice, reading) => acquireLock(slice, request, reading));
  }

  async extend(request: ExtendRequest): Promise<ExtendAnswer> {
    checkExtend(request);
    return this.#inTurn(request.lock, (slice, reading) => extendLock(slice, request, reading));
  }

  async release(request: ReleaseRequest): Promise<void> {
    checkRelease(request);
    const { lock, keepMs = 0 } = request;
    const rule: Rule<boolean> = (slice, reading) => releaseLock(slice, request, reading);
    const isReleased = await this.#inTurn(lock, rule);
    // Only a shutdown waits for it, and who is not told asks again.
    const told = isReleased && keepMs === 0 && this.#releases?.tell(lock).catch(() => undefined);
    if (told) this.#told = Promise.all([this.#told, told]).then(() => undefined);
  }

  async #isFree(lock: string): Promise<boolean> {
    const { timeMs, rows } = await this.#rows.read([HEADER_KEY, lock]);
    const { header, row } = storedIn(rows);
    return row === undefined || row.untilMs <= nowAt(header!, { timeMs, ...this.#clock });
  }

  async locks(): Promise<LockRecord[]> {
    const { timeMs, rows } = await this.#rows.readAll();
    const header = headerOf(rows);
    if (header === undefined) return [];
    const named = rows
      .filter(({ key }) => key !== HEADER_KEY)
      .map(({ key: lock, text }) => ({ lock, row: parseRow(text, header) }));
    return lockRecords(header, named, { timeMs, ...this.#clock });
  }

  async advice(): Promise<string[]> {
    return (await this.#rows.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#told;
    await this.#releases?.close?.();
    await this.#rows.close?.();
  }

  get #clock() {
    const { clock = slewed } = this.#rows;
    return { clock };
  }

  #inTurn<T>(lock: string, rule: Rule<T>): Promise<T> {
    return this.#turns.run(lock, (refused) => this.#attempt(lock, rule, refused));
  }

  /** Undefined where somebody else was faster, and where the header had to be written first. */
  async #attempt<T>(
    lock: string,
    rule: Rule<T>,
    refused: RefusedWrites,
  ): Promise<{ answer: T } | undefined> {
    const { timeMs, server, isPutBack, rows } = await this.#rows.read([HEADER_KEY, lock]);
    const stored = storedIn(rows);
    const { lossWindowMs } = this;
    const random = randomUUID();
    const reading = { timeMs, server, isPutBack, random, lossWindowMs, ...this.#clock };
    const { answer, header, row } = rule(stored, reading);
    if (header !== undefined && isNews(stored.header, header)) {
      const isWritten = await this.#writeHeader(stored, header, server);
      if (isWritten === false) refused.note(stored.headerRow?.version, server);
      return isWritten === true && row === undefined ? { answer } : undefined;
    }
    if (header === undefined || row === undefined) return { answer };
    const isWritten = await this.#writeRow(lock, { stored, header, row, server });
    if (isWritten === false) {
      refused.note(stored.headerRow?.version, stored.lockRow?.version, server);
    }
    if (isWritten !== true) return undefined;
    await this.#sweep(nowOf(header));
    return { answer };
  }

  #writeHeader(
    { headerRow }: Stored,
    header: LockHeader,
    server: string,
  ): Promise<boolean | undefined> {
    const row = { key: HEADER_KEY, number: HEADER_NUMBER, text: headerText(header) };
    return this.#rows.write({ ...row, version: headerRow?.version, server });
  }

  #writeRow(lock: string, { stored, header, row, server }: ToWrite): Promise<boolean | undefined> {
    const { headerRow, lockRow } = stored;
    return this.#rows.write({
      key: lock,
      number: forgettableFrom(row),
      text: encodeRow(row, header),
      version: lockRow?.version,
      server,
      onlyWith: { key: HEADER_KEY, version: headerRow!.version },
    });
  }

  /** Nothing rests on it: what stays is seen by the next one. */
  async #sweep(nowMs: number): Promise<void> {
    if (nowMs >= this.#sweptMs && nowMs < this.#sweptMs + SWEEP_MS) return;
    const isFirst = this.#sweptMs === 0;
    this.#sweptMs = nowMs;
    // Processes that are started together would all do it at once.
    if (isFirst) return;
    // A lock that was granted is not refused for it.
    const isFull = await this.#rows.sweep?.(firstTokenAt(nowMs)).catch(() => false);
    // More names may come in a minute than one sweep takes: the next one who acquires goes on.
    if (isFull === true) this.#sweptMs = nowMs - SWEEP_MS;
  }
}

interface ToWrite {
  readonly stored: Stored;
  readonly header: LockHeader;
  readonly row: LockRow;
  readonly server: string;
}

function headerOf(rows: readonly StoredKeyedRow[]): LockHeader | undefined {
  const row = rows.find(({ key }) => key === HEADER_KEY);
  return row && headerIn(row.text);
}

function storedIn(rows: readonly StoredKeyedRow[]): Stored {
  const headerRow = rows.find(({ key }) => key === HEADER_KEY);
  const lockRow = rows.find(({ key }) => key !== HEADER_KEY);
  const header = headerRow && headerIn(headerRow.text);
  const row = lockRow && parseRow(lockRow.text, header);
  return { header, row, headerRow, lockRow };
}

/** What others must know; the time alone only where it has gone on, or back. */
function isNews(stored: LockHeader | undefined, next: LockHeader): boolean {
  if (stored === undefined) return true;
  const { lastTimeMs, slewMs: _, ...facts } = stored;
  const isChanged = ([name, fact]: [string, unknown]) => next[name as keyof typeof facts] !== fact;
  if (Object.entries(facts).some(isChanged)) return true;
  const agedMs = next.lastTimeMs - lastTimeMs;
  return agedMs < 0 || agedMs >= HEADER_AGE_MS;
}

/*
 * A lock, and what is common to all, as the text that a store keeps, and back.
 *
 * Guarantee: what cannot be read is refused, never taken for a lock that nobody holds.
 */

/** Of the protocol. Locks that are kept by another one are left alone. */
const VERSION = '1';

const HEADER_TEXTS = ['incarnation', 'server', 'forgottenTo'] as const;
const HEADER_NUMBERS = [
  'lastTimeMs',
  'slewMs',
  'era',
  'longestMs',
  'provenMs',
  'provenAtMs',
  'readyAtMs',
] as const;
const ROW_TEXTS = ['incarnation', 'holder', 'label', 'token'] as const;
const ROW_NUMBERS = ['era', 'sinceMs', 'untilMs'] as const;
/** In which nobody holds anything. */
const NO_ERA = 0;

function headerText(header: LockHeader): string {
  return JSON.stringify({ version: VERSION, ...header, forgottenTo: String(header.forgottenTo) });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
function headerIn(text: string): LockHeader {
  const { version: _, ...header } = wholeFields(text, HEADER_TEXTS, HEADER_NUMBERS);
  const forgottenTo = tokenIn(header['forgottenTo']);
  return { ...(header as unknown as LockHeader), forgottenTo };
}

function encodeRow({ token, ...rest }: LockRow, { incarnation }: LockHeader): string {
  return JSON.stringify({ version: VERSION, incarnation, ...rest, token: String(token) });
}

/**
 * @param header as it is now; a row that is older than a new beginning is held by nobody
 * @throws SnowflakeError STORE_UNAVAILABLE, not retryable
 */
function parseRow(text: string, header: LockHeader | undefined): LockRow {
  const fields = wholeFields(text, ROW_TEXTS, ROW_NUMBERS);
  const { incarnation, holder, label, era, sinceMs, untilMs } = fields as unknown as LockRow & {
    readonly incarnation: string;
  };
  const token = tokenIn(fields['token']);
  const isOfNow = incarnation === header?.incarnation;
  const moment = { era: isOfNow ? era : NO_ERA, sinceMs, untilMs };
  return { token, holder, label, ...moment };
}

function tokenIn(digits: unknown): bigint {
  const token = numberIn(digits);
  if (token === undefined) throw unreadable(VERSION);
  return token;
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for what is not ours */
function wholeFields(
  text: string,
  texts: readonly string[],
  numbers: readonly string[],
): Readonly<Record<string, unknown>> {
  const fields = fieldsIn(text);
  if (fields['version'] === VERSION && isWhole(fields, texts, numbers)) return fields;
  throw unreadable(fields['version']);
}

function unreadable(version: unknown): SnowflakeError {
  return unreadableLocks(version, 'A row', 'Delete all rows of the namespace');
}

/** @param place what cannot be read @param cure what to do */
export function unreadableLocks(version: unknown, location: string, cure: string): SnowflakeError {
  const isOther = typeof version === 'string' && version !== VERSION;
  const message = isOther
    ? 'The locks have a protocol version that this package does not know. Nothing was changed. ' +
      'Use one version of nestjs-snowflake for them.'
    : `${location} of the locks cannot be read: somebody else wrote into it. Nothing is granted ` +
      `by it. ${cure}; locks are granted again when those that may still be held have ended.`;
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}
