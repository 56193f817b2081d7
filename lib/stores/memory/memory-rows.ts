/**
 * Rows with compare-and-swap in the memory of this process: for tests, and for processes that share
 * no data with others.
 *
 * Guarantee: the full RowStore contract. Each read and each write is one step.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { checkedOptions, methods } from '../../options.js';
import {
  HEADER_KEY,
  type Row,
  type RowChange,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
  type StoreReading,
} from '../../rows/row-store.js';

/** Rows with the clock of these options. @throws SnowflakeError CONFIG_INVALID with every error */
export function rowsBy(options: { readonly clock?: Clock | undefined }, whose: string): MemoryRows {
  const { clock } = checkedOptions(options, { clock: [methods('now'), systemClock] }, whose);
  return new MemoryRows(clock);
}

/** Callers in one process never race, so none of them pauses before a retry. */
export const WITHOUT_PAUSE = { random: () => 0 };

/**
 * A store in memory. Pass the same one to supports that share a registry.
 *
 * @example
 * ```ts
 * import { MemoryRows, MemorySupport } from 'nestjs-snowflake';
 *
 * const rows = new MemoryRows();
 * const [shop, stock] = [new MemorySupport({ rows }), new MemorySupport({ rows })];
 * rows.rows.clear(); // the registry is lost
 * ```
 */
export class MemoryRows implements RowStore {
  readonly location = 'the memory of this process';
  readonly lossWindowMs = 0;
  readonly headerAgeMs = 0;
  readonly comparesRows = true;
  /** To simulate a loss of data, clear them; to simulate a restore, set an older copy. */
  rows = new Map<string, StoredRow>();
  /** Another name stands for another server, which may have lost data. */
  server = 'memory';
  /** Outlives the rows, so that no version is reused. */
  #madeCount = 0;
  #isBegun = false;

  /** @param time the clock of the store; default: the host's clock */
  constructor(readonly time: Clock = systemClock) {}

  async read({ keys, token }: RowQuery): Promise<RowSnapshot> {
    const rows = keys.map((key) => this.rows.get(key));
    const isAsked = (row: Row) => row.token === token && !keys.includes(row.key);
    if (token !== undefined) rows.push([...this.rows.values()].find(isAsked));
    return this.#snapshotOf(rows.filter((row) => row !== undefined));
  }

  async readAll(): Promise<RowSnapshot> {
    return this.#snapshotOf([...this.rows.values()]);
  }

  async write(write: RowWrite): Promise<boolean> {
    const { server, headerVersion, headerNumber, header, isTimeOnly = false, rows } = write;
    const kept = this.rows.get(HEADER_KEY);
    const isHeaderNew = header !== undefined && !isTimeOnly;
    const isAsRead = ({ row, version }: RowChange) => version === this.rows.get(row.key)?.version;
    if (server !== this.server || headerVersion !== kept?.version) return false;
    if (isHeaderNew && headerNumber !== (kept?.number ?? 0n)) return false;
    if (!rows.every(isAsRead)) return false;
    if (isHeaderNew) this.#put(header);
    else if (header !== undefined && header.number > kept!.number) {
      this.rows.set(HEADER_KEY, { ...kept!, number: header.number });
    }
    for (const { row } of rows) this.#put(row);
    return true;
  }

  async sweep(below: bigint): Promise<boolean> {
    for (const [key, { number }] of this.rows) if (number < below) this.rows.delete(key);
    return false;
  }

  /** Creates a header that is known to be new; only once, because a header after a loss is not. */
  begin(headerAt: (reading: StoreReading) => Row): void {
    const isNew = !this.#isBegun && this.rows.size === 0;
    this.#isBegun = true;
    // Two processes have two registries, and `status.incarnation` must show this.
    const random = `memory ${Math.random().toString(36).slice(2)}`;
    const { server, lossWindowMs } = this;
    if (isNew) this.#put(headerAt({ timeMs: this.#timeMs, server, random, lossWindowMs }));
  }

  #snapshotOf(rows: readonly StoredRow[]): RowSnapshot {
    return { timeMs: this.#timeMs, server: this.server, rows };
  }

  /** Any clock is allowed, including one with fractions. */
  get #timeMs(): number {
    return Math.floor(this.time.now());
  }

  #put(row: Row): void {
    const version = (this.rows.get(row.key)?.version ?? ++this.#madeCount * 2 ** 30) + 1;
    this.rows.set(row.key, { ...row, version });
  }
}
