/**
 * The shortest store that keeps a registry: a Map, and a clock and a server in the hands of a test.
 */
import {
  type RegistryRow,
  type RegistrySlice,
  type SliceQuestion,
  type SliceStore,
  type SliceWrite,
  type StoredRow,
  HEADER_ID,
} from '../../lib/registry/slice-store.js';

export interface StoreMoment {
  timeMs: number;
  server: string;
}

export class MapStore implements SliceStore {
  readonly location = 'a Map';
  readonly rows = new Map<number, StoredRow>();
  /** Outlives the rows, so that no version of a header ever comes again. */
  private headerCount = 0;

  constructor(
    readonly moment: StoreMoment,
    readonly lossWindowMs = 0,
  ) {}

  async read({ workerIds, token }: SliceQuestion): Promise<RegistrySlice> {
    const isAsked = ({ workerId, token: theirs }: StoredRow) =>
      workerId === HEADER_ID ||
      workerIds.includes(workerId) ||
      (token !== undefined && theirs === token);
    return this.slice([...this.rows.values()].filter(isAsked));
  }

  async readAll(): Promise<RegistrySlice> {
    return this.slice([...this.rows.values()]);
  }

  /** The shortest way: every write of the header counts, also one of its time alone. */
  async write({ server, headerVersion, header, rows }: SliceWrite): Promise<boolean> {
    const isSame = server === this.moment.server && headerVersion === this.versionOf(HEADER_ID);
    if (!isSame || rows.some(({ row, version }) => version !== this.versionOf(row.workerId))) {
      return false;
    }
    for (const row of [...(header ? [header] : []), ...rows.map(({ row }) => row)]) this.put(row);
    return true;
  }

  private slice(rows: StoredRow[]): RegistrySlice {
    return { ...this.moment, rows };
  }

  private put(row: RegistryRow): void {
    const first = row.workerId === HEADER_ID ? ++this.headerCount * 2 ** 30 : 0;
    const version = (this.versionOf(row.workerId) ?? first) + 1;
    this.rows.set(row.workerId, { ...row, version });
  }

  private versionOf(workerId: number): number | undefined {
    return this.rows.get(workerId)?.version;
  }
}
