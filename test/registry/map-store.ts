/**
 * The shortest store of rows with compare-and-swap: a Map, and a clock and a server in the hands of
 * a test. What a caller read may be old by the time it writes, since each step takes a turn of its
 * own.
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
export interface StoreMoment {
  timeMs: number;
  server: string;
  readonly isPutBack?: boolean;
}

export class MapStore implements RowStore {
  readonly location = 'a Map';
  rows = new Map<string, StoredRow>();
  sweptCount = 0;
  /** Of one sweep. */
  sweptMax = Infinity;
  /** Outlives the rows, so that no version ever comes again. */
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

  /** The shortest way: every write of the header counts, also one of its time alone. */
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
 * What a store does with a header of which nothing but the time is new.
 */

const slot: Row = { key: '0', number: 1n, text: '{}' };
const header = (ms: number): Row => ({ key: HEADER_KEY, number: BigInt(ms), text: '{}' });

/** A row rests on the rest of the header alone, another header on its time as well. */
export const TIME_IS_KEPT = {
  afterHigher: 30,
  afterLower: 30,
  isHeaderTaken: false,
  isRowTaken: true,
  isHeaderTakenAsRead: true,
  afterLateTime: 40,
};

/** What an empty store made of it. */
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
