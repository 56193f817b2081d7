/**
 * Connects the rules with the rows of a store: holds a snapshot for the rules, and converts their
 * result to a write.
 *
 * A header is written if a change in it affects other processes. Its time alone, which invalidates
 * no reader's data, is written once it is old enough for the store. A mark also counts the writes
 * of its own row. Both only rise, so a holder can still prove a loss of data.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import type { LeaseAnswer, LeaseRequest, WorkerLease } from '../lease/distributed-support.js';
import { hasNewFacts } from '../rows/cas-retry.js';
import {
  HEADER_KEY,
  fieldsIn,
  isWhole,
  labelOf,
  type Row,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from '../rows/row-store.js';
import { clockAt, nowAt } from '../rows/store-clock.js';
import { VERSION, withLoss } from './prologue.js';
import {
  checkChanges,
  type AcquireSnapshot,
  type Changes,
  type HeldSlot,
  type IdSpan,
  type RegistryHeader,
  type SlotHolder,
  type StoreReading,
  type WorkerSlot,
} from './snapshot.js';

/** The maximum lag of the stored clock behind the returned one; part of the loss window. */
export const HEADER_AGE_MS = 1000;
/** The maximum time that a registry's creator may take to create its rows. */
const MAKING_MS = 10_000;

type StoreTerms = Pick<RowStore, 'lossWindowMs' | 'clock' | 'headerAgeMs' | 'keepsAfterMs'>;

export class StoredSnapshot {
  readonly header: StoredHeader | undefined;
  readonly reading: StoreReading;
  /** The resolution of the store's time. */
  readonly resolutionMs: number;
  private readonly headerAgeMs: number;
  private readonly headerRow: StoredRow | undefined;
  private readonly rows: ReadonlyMap<string, StoredRow>;

  constructor(
    private readonly snapshot: RowSnapshot,
    { lossWindowMs, clock, headerAgeMs = HEADER_AGE_MS, keepsAfterMs }: StoreTerms,
  ) {
    const { rows, ...facts } = snapshot;
    this.resolutionMs = facts.resolutionMs ?? 1;
    this.headerAgeMs = headerAgeMs;
    this.rows = new Map(rows.map((row) => [row.key, row]));
    this.headerRow = this.rows.get(HEADER_KEY);
    this.header = this.headerRow && headerOf(this.headerRow);
    const windows = { lossWindowMs: lossWindowMs + headerAgeMs, keepsAfterMs };
    this.reading = { ...facts, random: randomUUID(), ...windows, clock };
  }

  /** The header, with the clock's current addition to the store's time. */
  get facts(): StoredHeader | undefined {
    const { header, reading } = this;
    return header && { ...header, slewMs: clockAt(header, reading).slewMs };
  }

  /** The registry's clock or, without a registry, the store's clock. */
  get nowMs(): number {
    const { header, reading } = this;
    return header === undefined ? reading.timeMs : nowAt(header, reading);
  }

  /** The slots that were ever leased; only those of a token, if given. */
  slots(token?: string): WorkerSlot[] {
    const isAsked = (row: Row) => token === undefined || row.token === token;
    const leased = [...this.rows.values()].filter(
      (row) => row.key !== HEADER_KEY && row.number > 0n && isAsked(row),
    );
    return leased.map((row) => slotOf(row, this.header?.incarnation));
  }

  get headerVersion(): number | undefined {
    return this.headerRow?.version;
  }

  /** True if the registry's place exists and is empty. */
  get isEmpty(): boolean {
    return this.headerRow !== undefined && this.header === undefined;
  }

  /**
   * True if the registry was created recently and has no rows yet. A process that has written the
   * header since then does not wait.
   */
  get isInTheMaking(): boolean {
    const { header, reading } = this;
    if (header === undefined || header.blocks !== undefined || header.operations > 1) return false;
    const ageMs = reading.timeMs - header.lastTimeMs;
    return ageMs >= 0 && ageMs < MAKING_MS;
  }

  /** True if no process has been granted a range yet. */
  get isUnclaimed(): boolean {
    return this.header?.fingerprint === '';
  }

  has(workerId: number): boolean {
    return this.rows.has(String(workerId));
  }

  slotOf(workerId: number): WorkerSlot {
    const row = this.rows.get(String(workerId));
    return row === undefined ? { workerId, ceilingMs: 0 } : slotOf(row, this.header?.incarnation);
  }

  forAcquire({ token }: LeaseRequest, lowest: WorkerSlot): AcquireSnapshot {
    return { header: this.header, held: this.slots(token).find(isHeld), lowest };
  }

  /** The lease in the form that the rules compare with the header. */
  withoutWrites(lease: WorkerLease): WorkerLease {
    const operations = lease.mark.operations - this.versionOf(lease.workerId);
    return { ...lease, mark: { ...lease.mark, operations } };
  }

  /** The response in the form that the holder keeps. */
  withWrites(answer: LeaseAnswer): LeaseAnswer {
    if (answer.status !== 'ok' || answer.mark === undefined) return answer;
    const operations = answer.mark.operations + this.versionOf(answer.workerId);
    return { ...answer, mark: { ...answer.mark, operations } };
  }

  /**
   * Returns what must be written before a step that uses this worker ID: a header, or the number of
   * a block whose rows are missing.
   */
  lackOf(workerId: number, { header: next, slots }: Changes): Row | number | undefined {
    const { header } = this;
    if (next === undefined) return undefined;
    if (this.headerRow === undefined) return EMPTY_HEADER;
    // A claim is written together with its range, never before.
    if (header === undefined) return headerRow({ ...next, fingerprint: '' });
    const block = blockOf(workerId);
    if (block === undefined) return undefined;
    if (!header.blocks?.includes(block)) {
      return slots.some((slot) => slot.workerId === workerId) ? block : undefined;
    }
    if (this.has(workerId)) return undefined;
    const lost: StoredHeader = withLoss(header, this.reading);
    return headerRow({ ...lost, blocks: lost.blocks?.filter((made) => made !== block) });
  }

  /** The missing rows of a block. */
  rowsOf(block: number): RowWrite {
    const missing = workerIdsOf(block).filter((workerId) => !this.has(workerId));
    return this.write(missing.map((workerId) => ({ workerId, ceilingMs: 0 })));
  }

  /** Undefined if there is nothing to write. */
  writeOf(changes: Changes): RowWrite | undefined {
    const { header, slots } = changes;
    checkChanges(this.header, changes);
    const news = header === undefined ? 'none' : newsIn(this.header, header, this.headerAgeMs);
    // In an unused registry, a write of the time would only conflict with the first grant.
    const isIdle = news === 'none' || (news === 'time' && this.isUnclaimed);
    if (isIdle && slots.length === 0) return undefined;
    if (news === 'none') return this.write(slots);
    if (news === 'facts') return this.write(slots, headerRow(header!));
    const { lastTimeMs } = header!;
    // Concurrent callers write the same time, and the store accepts the first write.
    const ceilingMs = lastTimeMs - (lastTimeMs % Math.max(1, this.headerAgeMs / 2));
    return {
      ...this.write(slots, { ...this.headerRow!, number: BigInt(ceilingMs) }),
      isTimeOnly: true,
    };
  }

  write(slots: readonly WorkerSlot[], header?: Row): RowWrite {
    const { server } = this.snapshot;
    const { version: headerVersion, number: headerNumber = 0n } = this.headerRow ?? {};
    const incarnation = this.header?.incarnation;
    const rows = slots.map((slot) => ({
      row: slotRow(slot, incarnation),
      version: this.rows.get(String(slot.workerId))?.version,
    }));
    return { server, headerVersion, headerNumber, ...(header && { header }), rows };
  }

  private versionOf(workerId: number): number {
    return this.rows.get(String(workerId))?.version ?? 0;
  }
}

/** Other processes need these facts; the rest of a header follows from the stored one. */
function newsIn(stored: RegistryHeader | undefined, next: RegistryHeader, ageMs: number) {
  if (stored === undefined) return 'facts';
  const { lastTimeMs, slewMs, operations } = stored;
  if (hasNewFacts(stored, { ...next, operations })) return 'facts';
  const agedMs = next.lastTimeMs - lastTimeMs;
  // Only an operator's order reduces a clock's addition this fast.
  if (slewMs - next.slewMs > Math.max(0, agedMs)) return 'facts';
  if (agedMs === 0 || (agedMs > 0 && agedMs < ageMs)) return 'none';
  return agedMs > 0 && next.slewMs === slewMs ? 'time' : 'facts';
}

/*
 * How a registry detects a deleted row: rows are created in blocks before use, and the header lists
 * the created blocks. A missing row of a listed block had a ceiling that is now lost, which counts
 * as a loss of data.
 *
 * Guarantee: every deletion of a row is detected, for worker IDs below 4096.
 */

const BLOCK_SIZE = 128;
/** A list of this many blocks is short enough to write every second. */
const BLOCK_COUNT_MAX = 32;
/** The registry's creator creates these blocks before a concurrently started fleet needs them. */
const FIRST_BLOCK_COUNT = 8;

interface StoredHeader extends RegistryHeader {
  /** Absent in a new header. */
  readonly blocks?: readonly number[];
}

/** Returns undefined for worker IDs beyond the listed blocks. */
function blockOf(workerId: number): number | undefined {
  const block = Math.floor(workerId / BLOCK_SIZE);
  return block < BLOCK_COUNT_MAX ? block : undefined;
}

/** The first blocks of a span, enough for the worker IDs of a typical layout. */
function firstBlocksOf({ workerIdMin, workerIdMax }: IdSpan): number[] {
  const first = Math.floor(workerIdMin / BLOCK_SIZE);
  const end = Math.min(Math.floor(workerIdMax / BLOCK_SIZE) + 1, BLOCK_COUNT_MAX);
  const count = Math.min(end - first, FIRST_BLOCK_COUNT);
  return Array.from({ length: Math.max(0, count) }, (_, at) => first + at);
}

function workerIdsOf(block: number): number[] {
  return Array.from({ length: BLOCK_SIZE }, (_, at) => block * BLOCK_SIZE + at);
}

/*
 * Creates the rows of blocks before their first use, and lists the blocks in the header.
 *
 * Guarantee: rows come first, so the header lists only blocks that have all their rows.
 */

/** After this many refusals, the rows are left to the processes that need them. */
const FIRST_COUNT_MAX = 5;

export class BlockMaker {
  readonly #store: RowStore;
  readonly #read: (workerIds: readonly number[]) => Promise<StoredSnapshot>;

  constructor(store: RowStore, read: (workerIds: readonly number[]) => Promise<StoredSnapshot>) {
    this.#store = store;
    this.#read = read;
  }

  /** The registry's creator does this; otherwise, each process of a starting fleet would. */
  async makeFirst(span: IdSpan): Promise<void> {
    const blocks = firstBlocksOf(span);
    try {
      for (let count = 0; count < FIRST_COUNT_MAX && !(await this.make(blocks)); count++);
    } catch {
      // Missing rows are also created on demand.
    }
  }

  /** @returns false if another process changed the rows that it read */
  async make(blocks: readonly number[]): Promise<boolean> {
    const snapshot = await this.#read(blocks.flatMap(workerIdsOf));
    const { header } = snapshot;
    if (header === undefined) return true;
    const known = header.blocks ?? [];
    if (blocks.every((block) => known.includes(block))) return true;
    // Creates all blocks at once, because a whole starting fleet waits for each step.
    const writes = blocks
      .map((block) => snapshot.rowsOf(block))
      .filter(({ rows }) => rows.length > 0);
    const taken = await Promise.all(writes.map((write) => this.#store.write(write)));
    if (taken.some((isTaken) => isTaken !== true)) return false;
    const write = snapshot.write(
      [],
      headerRow({ ...header, blocks: [...new Set([...known, ...blocks])] }),
    );
    return (await this.#store.write(write)) === true;
  }
}

/*
 * Encodes the header and the slots of a registry as rows of a store, and parses them.
 *
 * Guarantee: a row reads back as it was written. If another program has corrupted it, the ceiling
 * still counts and the row has no holder. An unreadable header is refused, never treated as absent.
 */

/**
 * A placeholder for the first header. It gives the registry's creator a version to depend on.
 * Without it, a process that saw no header and then stalled could not detect that one was created
 * and deleted.
 */
const EMPTY_HEADER: Row = { key: HEADER_KEY, number: 0n, text: '{}' };

export function headerRow(header: StoredHeader): Row {
  return { ...EMPTY_HEADER, number: BigInt(header.lastTimeMs), text: JSON.stringify(header) };
}

/** @param incarnation of the header at the write of the row */
function slotRow(slot: WorkerSlot, incarnation: string | undefined): Row {
  const { workerId, ceilingMs, holder } = slot;
  const own = { key: String(workerId), number: BigInt(ceilingMs) };
  if (holder === undefined) return { ...own, text: '{}' };
  const { token, ...rest } = holder;
  return { ...own, token, text: JSON.stringify({ ...rest, incarnation }) };
}

const HEADER_NUMBERS = [
  'lastTimeMs',
  'slewMs',
  'quarantineMs',
  'safeFloorMs',
  'era',
  'operations',
] as const;
const HEADER_TEXTS = ['version', 'fingerprint', 'incarnation', 'server'] as const;

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for a text that is not a header's */
function headerOf({ text, number }: Row): StoredHeader | undefined {
  if (text === EMPTY_HEADER.text) return undefined;
  const fields = fieldsIn(text);
  const { blocks } = fields;
  const isHeader =
    isWhole(fields, HEADER_TEXTS, HEADER_NUMBERS) &&
    (fields['layoutFloorMs'] === undefined || isWhole(fields, [], ['layoutFloorMs'])) &&
    (blocks === undefined || (Array.isArray(blocks) && blocks.every(Number.isSafeInteger)));
  // Another version of the protocol may have other fields, so its number alone is enough to refuse
  // it.
  const isLeftAlone = typeof fields['version'] === 'string' && fields['version'] !== VERSION;
  const header = fields as unknown as StoredHeader;
  // The time is the most frequent write.
  if (isHeader) return { ...header, lastTimeMs: Math.max(header.lastTimeMs, msOf(number)) };
  if (isLeftAlone) return header;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The header of the registry cannot be read: something else has written to its row. Nothing ` +
      `is granted from it. Restore the row, or delete the whole registry: running processes ` +
      `bring back what they know.`,
    { retryable: false },
  );
}

/**
 * @param incarnation of the header read together with the row. If only the header is lost, the next
 * header counts eras from the start: an earlier holder belongs to none of them.
 */
function slotOf(row: Row, incarnation: string | undefined): WorkerSlot {
  const { key, number, token, text } = row;
  const [workerId, ceilingMs] = [Number(key), msOf(number)];
  if (token === undefined) return { workerId, ceilingMs };
  const fields = fieldsIn(text);
  const holder = holderOf(token, fields);
  if (holder === undefined) return { workerId, ceilingMs };
  const isOfThis = incarnation !== undefined && fields['incarnation'] === incarnation;
  return { workerId, ceilingMs, holder: isOfThis ? holder : { ...holder, era: 0 } };
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for an invalid time */
function msOf(number: bigint): number {
  const ms = Number(number);
  if (Number.isSafeInteger(ms)) return ms;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `A row of the registry holds ${number}, which is no time: something else has written to it. ` +
      `Nothing is granted from it. Restore the row, or delete the whole registry.`,
    { retryable: false },
  );
}

const isHeld = (slot: WorkerSlot): slot is HeldSlot => slot.holder !== undefined;

const HOLDER_NUMBERS = ['floorMs', 'era', 'moveCount', 'sinceMs'] as const;

function holderOf(token: string, fields: Record<string, unknown>): SlotHolder | undefined {
  const { nonce, floorMs, era, moveCount = 0, sinceMs, label } = { ...fields };
  if (!isWhole({ ...fields, moveCount }, ['nonce'], HOLDER_NUMBERS)) return undefined;
  return { token, nonce, floorMs, era, moveCount, sinceMs, label: labelOf(label) } as SlotHolder;
}
