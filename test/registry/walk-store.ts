/**
 * A store of rows whose every step waits for its turn. So a walk decides what happens between a
 * read and the write that depends on it. Each row of a write is a separate step, as in SQL.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
} from '../../lib/lease/distributed-support.js';
import { answerWithin } from '../../lib/lease/support-caller.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import type {
  Row,
  RowQuery,
  RowSnapshot,
  RowStore,
  RowWrite,
  StoredRow,
} from '../../lib/rows/row-store.js';
import type { SettableTime } from '../../lib/testing/settable-time.js';
import { pause, RetryDelay } from '../../lib/time/timers.js';

/** The condition that a broken store skips, or its error. */
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
  /** Resolves when the waiting step has its turn. */
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
      // Blank rows for later use are one step, like an INSERT of many rows.
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

  /** Another server answers from now on, with its own rows. */
  replace(rows: Rows): void {
    this.rows = new Map(rows);
    this.moment.serverCount++;
  }

  remove(isGone: (key: string) => boolean): void {
    for (const key of this.rows.keys()) if (isGone(key)) this.rows.delete(key);
  }

  /** An answer shows the moment of its read, and arrives later. */
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
 * A store that handles one step after the other. Each step takes a while, on a clock under the
 * test's control. Processes call it like a keeper.
 */

const CALL_TIMEOUT_MS = 2000;

export class SlowStore implements RowStore {
  readonly location = 'a slow store';
  readonly lossWindowMs = 0;
  readonly rows: MapStore;
  stepCount = 0;
  /** How many rows were requested, found or not. */
  askedCount = 0;
  /** Each written range: its worker ID and its token. */
  readonly granted: string[] = [];
  private freeAtMs = 0;

  constructor(
    private readonly time: SettableTime,
    /** Infinity if no step ends. */
    public stepMs: number,
    resolutionMs = 1,
  ) {
    const timeMs = () => Math.floor(time.now() / resolutionMs) * resolutionMs;
    this.rows = new MapStore(() => ({ timeMs: timeMs(), resolutionMs, server: 'one' }));
  }

  read(query: RowQuery): Promise<RowSnapshot> {
    this.askedCount += query.keys.length;
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
   * As in real stores, a header whose time alone is new keeps its version. Any other header is
   * written only if the stored time equals the time of the read.
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

/** Repeats the request, with the limit of a keeper's call, until it has an answer, like a start. */
export async function asked(
  support: Pick<IDistributedSupport, 'getNextWorkId'>,
  request: LeaseRequest,
  { time, random }: { time: SettableTime; random: () => number },
): Promise<LeaseAnswer> {
  const delay = new RetryDelay(random);
  for (;;) {
    try {
      const limit = { timers: time, ms: CALL_TIMEOUT_MS, consequence: 'It is asked again.' };
      return await answerWithin(() => support.getNextWorkId({ ...request }), limit);
    } catch {
      await pause(time, delay.next());
    }
  }
}

// The simplest store of rows with compare-and-swap: a Map, with clock and server under the test's
// control. The data of a read may be outdated at the write, since each step takes a separate turn.

export interface StoreMoment {
  timeMs: number;
  server: string;
  readonly resolutionMs?: number;
  readonly isPutBack?: boolean;
}

export class MapStore implements RowStore {
  readonly location = 'a Map';
  rows = new Map<string, StoredRow>();
  sweptCount = 0;
  /** The maximum of one sweep. */
  sweptMax = Infinity;
  /** Outlives the rows, so that each version is unique. */
  private rowCount = 0;

  constructor(
    private readonly told: StoreMoment | (() => StoreMoment),
    readonly lossWindowMs = 0,
  ) {}

  get moment(): StoreMoment {
    return typeof this.told === 'function' ? this.told() : this.told;
  }

  async read({ keys, token }: RowQuery): Promise<RowSnapshot> {
    await Promise.resolve();
    const isAsked = (row: StoredRow) =>
      keys.includes(row.key) || (token !== undefined && row.token === token);
    return { ...this.moment, rows: [...this.rows.values()].filter(isAsked) };
  }

  async readAll(): Promise<RowSnapshot> {
    return { ...this.moment, rows: [...this.rows.values()] };
  }

  /** The simplest rule: every write of the header counts, even if only the time changes. */
  async write({ server, headerVersion, header, rows }: RowWrite): Promise<boolean> {
    await Promise.resolve();
    const versionOf = (key: string) => this.rows.get(key)?.version;
    if (headerVersion !== versionOf(HEADER_KEY)) return false;
    if (rows.some(({ row, version }) => version !== versionOf(row.key))) return false;
    if (server !== this.moment.server) return false;
    for (const row of [...(header ? [header] : []), ...rows.map((change) => change.row)]) {
      const version = (versionOf(row.key) ?? ++this.rowCount * 2 ** 30) + 1;
      this.rows.set(row.key, { ...row, version });
    }
    return true;
  }

  async sweep(below: bigint): Promise<boolean> {
    const old = [...this.rows.values()].filter(({ number }) => number < below);
    const swept = old.slice(0, this.sweptMax);
    for (const { key } of swept) this.rows.delete(key);
    this.sweptCount += swept.length;
    return swept.length === this.sweptMax;
  }
}

/*
 * The effect of a header whose time alone is new.
 */

const slot: Row = { key: '0', number: 1n, text: '{}' };
const header = (ms: number): Row => ({ key: HEADER_KEY, number: BigInt(ms), text: '{}' });

/** A row depends on the header except its time. Another header depends on the time as well. */
export const TIME_IS_KEPT = {
  afterHigher: 30,
  afterLower: 30,
  isHeaderTaken: false,
  isRowTaken: true,
  isHeaderTakenAsRead: true,
  afterLateTime: 40,
};

/** The results in an empty store. */
export async function keptTimeIn(store: RowStore): Promise<object> {
  const read = async () => {
    const { server, rows } = await store.read({ keys: [HEADER_KEY, '0'] });
    const { version, number = 0n } = rows.find(({ key }) => key === HEADER_KEY) ?? {};
    return { server, headerVersion: version, headerNumber: number, rows: [] };
  };
  await store.write({ ...(await read()), header: header(10) });
  const first = await read();
  const told = async (ms: number) => {
    await store.write({ ...first, header: header(ms), isTimeOnly: true });
    return Number((await read()).headerNumber);
  };
  const row = { row: slot, version: undefined };
  return {
    afterHigher: await told(30),
    afterLower: await told(20),
    isHeaderTaken: await store.write({ ...first, header: header(40) }),
    isRowTaken: await store.write({ ...first, rows: [row] }),
    isHeaderTakenAsRead: await store.write({ ...(await read()), header: header(40) }),
    afterLateTime: await told(50),
  };
}
