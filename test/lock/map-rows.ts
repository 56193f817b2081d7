/**
 * The shortest store of rows with compare-and-swap: a Map. What a caller read may be old by the
 * time it writes, since each step takes a turn of its own.
 */
import type { KeyedRead, KeyedRows, KeyedWrite, StoredKeyedRow } from '../../lib/rows/row-store.js';

export interface Moment {
  readonly timeMs: number;
  readonly server: string;
  readonly isPutBack?: boolean;
}

export class MapRows implements KeyedRows {
  readonly location = 'rows in a test';
  table = new Map<string, StoredKeyedRow>();
  sweptCount = 0;
  /** Of one sweep. */
  sweptMax = Infinity;
  private version = 0;

  constructor(
    private readonly moment: () => Moment,
    readonly lossWindowMs: number,
  ) {}

  async read(keys: readonly string[]): Promise<KeyedRead> {
    await Promise.resolve();
    const rows = keys.map((key) => this.table.get(key)).filter((row) => row !== undefined);
    return { ...this.moment(), rows };
  }

  async readAll(): Promise<KeyedRead> {
    return this.read([...this.table.keys()]);
  }

  async write({ version, server, onlyWith, ...row }: KeyedWrite): Promise<boolean> {
    await Promise.resolve();
    const isSame = this.table.get(row.key)?.version === version;
    const hasOther =
      onlyWith === undefined || this.table.get(onlyWith.key)?.version === onlyWith.version;
    if (!isSame || !hasOther || server !== this.moment().server) return false;
    this.table.set(row.key, { ...row, version: ++this.version });
    return true;
  }

  async sweep(below: bigint): Promise<boolean> {
    const old = [...this.table.values()].filter(({ number }) => number < below);
    const swept = old.slice(0, this.sweptMax);
    for (const { key } of swept) this.table.delete(key);
    this.sweptCount += swept.length;
    return swept.length === this.sweptMax;
  }
}
