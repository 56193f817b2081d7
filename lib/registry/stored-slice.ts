/**
 * Between the rules and the rows of a store: a slice as the rules read it, and what they say as the
 * write that makes it so.
 *
 * A header that every operation wrote would be the one row that all of them fight for. So it is
 * written where something in it matters to others, or where its time is `HEADER_AGE_MS` old; and a
 * mark counts the writes of its own row besides the operations in the header. Both only rise, so
 * that a holder still proves that data was lost.
 */
import { randomUUID } from 'node:crypto';
import type { LeaseAnswer, LeaseRequest, WorkerLease } from '../lease/distributed-support.js';
import { nowOf, slewed, type ClockPolicy } from './registry-clock.js';
import { withLoss } from './opening.js';
import { blockOf, isMade, withoutBlock, workerIdsOf, type StoredHeader } from './row-blocks.js';
import { EMPTY_HEADER, headerOf, headerRow, isHeld, slotOf, slotRow } from './row-text.js';
import {
  HEADER_ID,
  type RegistrySlice,
  type RegistryRow,
  type SliceWrite,
  type StoredRow,
} from './slice-store.js';
import type {
  AcquireSlice,
  Changes,
  RegistryHeader,
  StoreReading,
  WorkerSlice,
  WorkerSlot,
} from './slice.js';

/** So far the clock of the registry can fall behind what was answered; part of the loss window. */
export const HEADER_AGE_MS = 1000;

export interface StoreTerms {
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy | undefined;
}

export class StoredSlice {
  readonly header: StoredHeader | undefined;
  readonly reading: StoreReading;
  private readonly headerVersion: number | undefined;
  private readonly rows: ReadonlyMap<number, StoredRow>;

  constructor(
    private readonly slice: RegistrySlice,
    { lossWindowMs, clock = slewed }: StoreTerms,
  ) {
    const { timeMs, server, rows } = slice;
    this.rows = new Map(rows.map((row) => [row.workerId, row]));
    const header = this.rows.get(HEADER_ID);
    this.header = header && headerOf(header);
    this.headerVersion = header?.version;
    this.reading = { timeMs, server, random: randomUUID(), lossWindowMs, clock };
  }

  /** The registry's clock; the store's where there is no registry yet. */
  get nowMs(): number {
    const { header, reading } = this;
    if (header === undefined) return reading.timeMs;
    return nowOf(reading.clock!(header, reading.timeMs));
  }

  /** Those that were ever leased. */
  slots(): WorkerSlot[] {
    const leased = [...this.rows.values()].filter(({ ceilingMs }) => ceilingMs > 0);
    return leased.map((row) => slotOf(row, this.header?.incarnation));
  }

  has(workerId: number): boolean {
    return this.rows.has(workerId);
  }

  slotOf(workerId: number): WorkerSlot {
    const row = this.rows.get(workerId);
    return row === undefined ? { workerId, ceilingMs: 0 } : slotOf(row, this.header?.incarnation);
  }

  ofWorker(workerId: number): WorkerSlice {
    return { header: this.header, slot: this.slotOf(workerId) };
  }

  forAcquire({ token }: LeaseRequest, lowest: WorkerSlot): AcquireSlice {
    const held = this.slots().find(({ holder }) => holder?.token === token);
    return { header: this.header, held: held && isHeld(held) ? held : undefined, lowest };
  }

  /** A lease as the rules compare it with the header alone. */
  withoutWrites(lease: WorkerLease): WorkerLease {
    const operations = lease.mark.operations - this.versionOf(lease.workerId);
    return { ...lease, mark: { ...lease.mark, operations } };
  }

  /** An answer as the holder shall keep it. */
  withWrites(answer: LeaseAnswer): LeaseAnswer {
    if (answer.status !== 'ok' || answer.mark === undefined) return answer;
    const operations = answer.mark.operations + this.versionOf(answer.workerId);
    return { ...answer, mark: { ...answer.mark, operations } };
  }

  /**
   * What has to be written before a step that reads or writes this worker id: a header, or the
   * number of a block whose rows are to be made.
   */
  lackOf(workerId: number, { header: next, slots }: Changes): RegistryRow | number | undefined {
    const { header } = this;
    if (next === undefined) return undefined;
    if (this.headerVersion === undefined) return EMPTY_HEADER;
    // A claim is written with the range that makes it, never before it.
    if (header === undefined) return headerRow({ ...next, fingerprint: '' });
    const block = blockOf(workerId);
    if (block === undefined) return undefined;
    if (!isMade(header, block)) {
      return slots.some((slot) => slot.workerId === workerId) ? block : undefined;
    }
    if (this.rows.has(workerId)) return undefined;
    return headerRow(withoutBlock(withLoss(header, this.reading), block));
  }

  /** The rows of a block that are not there yet. */
  rowsOf(block: number): SliceWrite {
    const missing = workerIdsOf(block).filter((workerId) => !this.rows.has(workerId));
    return this.write(missing.map((workerId) => ({ workerId, ceilingMs: 0 })));
  }

  /** Undefined where there is nothing to write. */
  writeOf({ header, slots }: Changes): SliceWrite | undefined {
    const isHeaderNew = header !== undefined && isWorthWriting(this.header, header);
    if (!isHeaderNew && slots.length === 0) return undefined;
    return this.write(slots, isHeaderNew ? headerRow(header) : undefined);
  }

  write(slots: readonly WorkerSlot[], header?: RegistryRow): SliceWrite {
    const { server } = this.slice;
    const { headerVersion } = this;
    const incarnation = this.header?.incarnation;
    const rows = slots.map((slot) => ({
      row: slotRow(slot, incarnation),
      version: this.rows.get(slot.workerId)?.version,
    }));
    return { server, headerVersion, ...(header && { header }), rows };
  }

  private versionOf(workerId: number): number {
    return this.rows.get(workerId)?.version ?? 0;
  }
}

/** What others must know; all the rest of a header can be told from what stands there. */
function isWorthWriting(stored: RegistryHeader | undefined, next: RegistryHeader): boolean {
  if (stored === undefined) return true;
  const agedMs = next.lastTimeMs - stored.lastTimeMs;
  if (agedMs < 0 || agedMs >= HEADER_AGE_MS) return true;
  const { lastTimeMs: _, slewMs: __, operations: ___, ...facts } = stored;
  return Object.entries(facts).some(([name, fact]) => next[name as keyof typeof facts] !== fact);
}
