/**
 * A store of rows whose every step waits for its turn, so that a walk decides what happens between
 * a read and the write that rests on it. Each row of a write is a step of its own, as in SQL.
 */
import {
  HEADER_KEY,
  type Row,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from '../../lib/rows/row-store.js';

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

type Rows = Map<string, StoredRow>;

export class WalkStore implements RowStore {
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

  async read({ keys, token }: RowQuery): Promise<RowSnapshot> {
    const asked = new Set(keys);
    return this.seen((row) => asked.has(row.key) || (token !== undefined && row.token === token));
  }

  readAll(): Promise<RowSnapshot> {
    return this.seen(() => true);
  }

  async write(write: RowWrite): Promise<boolean> {
    const { server, headerVersion, header, rows, isTimeOnly } = write;
    let headerAt = headerVersion;
    if (header !== undefined) {
      await this.turn();
      if (!this.isAt(server) || this.versionOf(HEADER_KEY) !== headerVersion) return false;
      const kept = this.rows.get(HEADER_KEY);
      if (isTimeOnly === true) {
        const number = header.number > kept!.number ? header.number : kept!.number;
        this.rows.set(HEADER_KEY, { ...kept!, number });
      } else {
        const isTimeSame = (kept?.number ?? 0n) === write.headerNumber;
        if (this.fault !== 'header time' && !isTimeSame) return false;
        headerAt = this.put(header);
      }
    }
    for (const { row, version } of rows) {
      // Rows that are made for later come in one step, as by an INSERT of many.
      if (row.number > 0n || row === rows[0]?.row) await this.turn();
      const isHeaderSame =
        this.fault === 'header version' || this.versionOf(HEADER_KEY) === headerAt;
      const isRowSame = this.fault === 'row version' || this.versionOf(row.key) === version;
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

  remove(isGone: (key: string) => boolean): void {
    for (const key of this.rows.keys()) if (isGone(key)) this.rows.delete(key);
  }

  /** An answer is of the moment it was made in, and comes later. */
  private async seen(isAsked: (row: StoredRow) => boolean): Promise<RowSnapshot> {
    await this.turn();
    const rows = [...this.rows.values()].filter(isAsked);
    const snapshot = { timeMs: this.moment.timeMs, server: this.server, rows };
    await this.turn();
    return snapshot;
  }

  private get server(): string {
    return this.fault === 'one server name' ? 'one' : `server ${this.moment.serverCount}`;
  }

  private isAt(server: string): boolean {
    return server === this.server;
  }

  private versionOf(key: string): number | undefined {
    return this.rows.get(key)?.version;
  }

  private put(row: Row): number {
    const next = (this.versionOf(row.key) ?? 0) + 1;
    const version = this.fault === 'versions begin again' ? next : ++this.writeCount;
    this.rows.set(row.key, { ...row, version });
    return version;
  }
}
