/**
 * A store of rows whose every step waits for its turn, so that a walk decides what happens between
 * a read and the write that rests on it. Each row of a write is a step of its own, as in SQL.
 */
import {
  HEADER_ID,
  type RegistryRow,
  type RegistrySlice,
  type SliceQuestion,
  type SliceStore,
  type SliceWrite,
  type StoredRow,
} from '../../lib/registry/slice-store.js';

/** What a broken store does not look at, or does wrong. */
export type StoreFault =
  | 'row version'
  | 'header version'
  | 'header time'
  | 'server'
  | 'one server name'
  | 'versions begin again';

export interface WalkMoment {
  timeMs: number;
  serverCount: number;
}

interface WalkStoreParts {
  readonly moment: WalkMoment;
  /** Resolves when it is the turn of whoever waits for it. */
  readonly turn: () => Promise<void>;
  readonly fault: StoreFault | undefined;
  readonly lossWindowMs: number;
}

type Rows = Map<number, StoredRow>;

export class WalkStore implements SliceStore {
  readonly location = 'a walk';
  readonly lossWindowMs: number;
  private readonly moment: WalkMoment;
  private readonly turn: () => Promise<void>;
  private readonly fault: StoreFault | undefined;
  private rows: Rows = new Map();
  private writeCount = 0;

  constructor({ moment, turn, fault, lossWindowMs }: WalkStoreParts) {
    this.moment = moment;
    this.turn = turn;
    this.fault = fault;
    this.lossWindowMs = lossWindowMs;
  }

  async read({ workerIds, token }: SliceQuestion): Promise<RegistrySlice> {
    const asked = new Set([HEADER_ID, ...workerIds]);
    return this.seen(
      (row) => asked.has(row.workerId) || (token !== undefined && row.token === token),
    );
  }

  readAll(): Promise<RegistrySlice> {
    return this.seen(() => true);
  }

  async write(write: SliceWrite): Promise<boolean> {
    const { server, headerVersion, header, rows, isTimeOnly } = write;
    let headerAt = headerVersion;
    if (header !== undefined) {
      await this.turn();
      if (!this.isAt(server) || this.versionOf(HEADER_ID) !== headerVersion) return false;
      const kept = this.rows.get(HEADER_ID);
      if (isTimeOnly === true) {
        const ceilingMs = Math.max(kept!.ceilingMs, header.ceilingMs);
        this.rows.set(HEADER_ID, { ...kept!, ceilingMs });
      } else {
        const isTimeSame = (kept?.ceilingMs ?? 0) === write.headerCeilingMs;
        if (this.fault !== 'header time' && !isTimeSame) return false;
        headerAt = this.put(header);
      }
    }
    for (const { row, version } of rows) {
      // Rows that are made for later come in one step, as by an INSERT of many.
      if (row.ceilingMs > 0 || row === rows[0]?.row) await this.turn();
      const isHeaderSame =
        this.fault === 'header version' || this.versionOf(HEADER_ID) === headerAt;
      const isRowSame = this.fault === 'row version' || this.versionOf(row.workerId) === version;
      if (!this.isAt(server) || !isHeaderSame || !isRowSame) return false;
      this.put(row);
    }
    return true;
  }

  copy(): Rows {
    return new Map(this.rows);
  }

  /** Another server answers from now on, with what it knows. */
  replace(rows: Rows): void {
    this.rows = new Map(rows);
    this.moment.serverCount++;
  }

  remove(isGone: (workerId: number) => boolean): void {
    for (const workerId of this.rows.keys()) if (isGone(workerId)) this.rows.delete(workerId);
  }

  /** An answer is of the moment it was made in, and comes later. */
  private async seen(isAsked: (row: StoredRow) => boolean): Promise<RegistrySlice> {
    await this.turn();
    const rows = [...this.rows.values()].filter(isAsked);
    const slice = { timeMs: this.moment.timeMs, server: this.server, rows };
    await this.turn();
    return slice;
  }

  private get server(): string {
    return this.fault === 'one server name' ? 'one' : `server ${this.moment.serverCount}`;
  }

  private isAt(server: string): boolean {
    return server === this.server;
  }

  private versionOf(workerId: number): number | undefined {
    return this.rows.get(workerId)?.version;
  }

  private put(row: RegistryRow): number {
    const next = (this.versionOf(row.workerId) ?? 0) + 1;
    const version = this.fault === 'versions begin again' ? next : ++this.writeCount;
    this.rows.set(row.workerId, { ...row, version });
    return version;
  }
}
