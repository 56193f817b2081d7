/**
 * A store of rows whose every step waits for its turn, so that a walk decides what happens between
 * a read and the write that rests on it. Each row of a write is a step of its own, as in SQL.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
} from '../../lib/lease/distributed-support.js';
import { SupportCaller } from '../../lib/lease/support-caller.js';
import {
  HEADER_KEY,
  type Row,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from '../../lib/rows/row-store.js';
import type { SettableTime } from '../../lib/testing/settable-time.js';
import { pause, RetryDelay } from '../../lib/time/timers.js';
import { MapStore } from './map-store.js';
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

/*
 * A store that everybody waits for: one step after the other, each of which takes its time, on a
 * clock that a test moves; and processes that ask it as a keeper does.
 */

const CALL_TIMEOUT_MS = 2000;

export class SlowStore implements RowStore {
  readonly location = 'a slow store';
  readonly lossWindowMs = 0;
  readonly rows: MapStore;
  stepCount = 0;
  /** Each range that was written: its worker id and its token. */
  readonly granted: string[] = [];
  private freeAtMs = 0;

  constructor(
    private readonly time: SettableTime,
    /** Infinity where no step ends. */
    public stepMs: number,
  ) {
    const moment = {
      get timeMs() {
        return time.now();
      },
      server: 'one',
    };
    this.rows = new MapStore(moment);
  }

  read(query: RowQuery): Promise<RowSnapshot> {
    return this.step(() => this.rows.read(query));
  }

  readAll(): Promise<RowSnapshot> {
    return this.step(() => this.rows.readAll());
  }

  async write(write: RowWrite): Promise<boolean> {
    const isTaken = await this.step(() => this.written(write));
    const held = write.rows.filter(({ row }) => row.token !== undefined);
    if (isTaken) this.granted.push(...held.map(({ row }) => `${row.key} ${row.token}`));
    return isTaken;
  }

  /**
   * As real stores do: a header of which only the time is new keeps its version, and any other is
   * written only where the time is as it was read.
   */
  private async written({ isTimeOnly, header, ...write }: RowWrite): Promise<boolean> {
    const kept = this.rows.rows.get(HEADER_KEY);
    const isWhole = header !== undefined && isTimeOnly !== true;
    if (isWhole && write.headerNumber !== (kept?.number ?? 0n)) return false;
    if (isTimeOnly !== true || header === undefined || kept === undefined)
      return this.rows.write({ ...write, ...(header && { header }) });
    const number = header.number > kept.number ? header.number : kept.number;
    this.rows.rows.set(HEADER_KEY, { ...kept, number });
    return this.rows.write(write);
  }

  private async step<T>(run: () => Promise<T>): Promise<T> {
    this.stepCount++;
    const nowMs = this.time.passedMs;
    if (this.stepMs === Infinity) return new Promise(() => undefined);
    this.freeAtMs = Math.max(nowMs, this.freeAtMs) + this.stepMs;
    await pause(this.time, this.freeAtMs - nowMs);
    return run();
  }
}

/** Asks with the limit of a keeper's call until it is answered, as a start does. */
export async function asked(
  support: Pick<IDistributedSupport, 'getNextWorkId'>,
  request: LeaseRequest,
  { time, random }: { time: SettableTime; random: () => number },
): Promise<LeaseAnswer> {
  const caller = new SupportCaller(time, CALL_TIMEOUT_MS);
  const delay = new RetryDelay(random);
  for (;;) {
    try {
      const terms = { consequence: 'It is asked again.' };
      return await caller.call(() => support.getNextWorkId({ ...request }), terms);
    } catch {
      await pause(time, delay.next());
    }
  }
}
