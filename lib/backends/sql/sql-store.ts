/**
 * A registry in one table: a store of rows by compare-and-swap, for `RegistrySupport`.
 *
 * Promise: each row is written by one statement that carries all it rests on, so that nothing is
 * locked between two statements and no transaction is needed. What somebody else changed meanwhile
 * is answered with false.
 */
import type { ClockPolicy } from '../../registry/registry-clock.js';
import type { Finding } from '../../registry/registry-view.js';
import {
  HEADER_ID,
  type RegistryRow,
  type RegistrySlice,
  type SliceQuestion,
  type SliceStore,
  type SliceWrite,
  type StoredRow,
} from '../../registry/slice-store.js';
import type { RowChange } from './dialects/dialect.js';
import { answered, sliceIn } from './dialects/rows.js';
import { changesOf, headerChange } from './row-changes.js';
import { rowsOf } from './sql-query.js';
import { SqlSession, type SqlSessionParts } from './sql-session.js';

/** Of a list, at a time. */
const PAGE_ROWS = 10_000;

export interface SqlStoreParts extends Omit<SqlSessionParts, 'holds'> {
  readonly clock?: ClockPolicy;
}

export class SqlStore implements SliceStore {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
  readonly comparesRows = true;
  readonly #dialect: SqlStoreParts['dialect'];
  readonly #session: SqlSession;

  constructor(parts: SqlStoreParts) {
    const { lossWindowMs, clock } = parts;
    this.#dialect = parts.dialect;
    this.#session = new SqlSession({ ...parts, holds: 'registry' });
    this.place = this.#session.place;
    this.lossWindowMs = lossWindowMs;
    if (clock !== undefined) this.clock = clock;
  }

  /** The database, for messages; without a password. */
  get where(): string {
    return this.#session.where;
  }

  async read(question: SliceQuestion): Promise<RegistrySlice> {
    this.#session.reopen();
    return sliceIn(await this.#session.read((statements) => statements.read(question), true));
  }

  async readAll(countMax = Infinity): Promise<RegistrySlice> {
    const rows: StoredRow[] = [];
    for (let after = HEADER_ID - 1; ; after = rows.at(-1)!.workerId) {
      // One more than that for the header.
      const rowCount = Math.min(PAGE_ROWS, countMax + 1 - rows.length);
      const page = sliceIn(
        await this.#session.read((statements) => statements.page(after, rowCount)),
      );
      const found = page.rows.toSorted((a, b) => a.workerId - b.workerId);
      rows.push(...found);
      if (found.length < rowCount || rows.length > countMax) return { ...page, rows };
    }
  }

  ceilings(min: number, max: number): Promise<Pick<RegistryRow, 'workerId' | 'ceilingMs'>[]> {
    return this.#session.asked(async (statements) => {
      const rows = rowsOf(await this.#session.run(statements.ceilings(min, max)));
      return rows.map((row) => ({
        workerId: answered(row, 'worker_id'),
        ceilingMs: answered(row, 'ceiling'),
      }));
    });
  }

  async write(write: SliceWrite): Promise<boolean | undefined> {
    const { server, headerVersion, rows, isTimeOnly = false } = write;
    const own = headerChange(write);
    let isWritten = own === undefined || (await this.#writeRow(own, isTimeOnly));
    const rests = { server, headerVersion: own?.nextVersion ?? headerVersion };
    for (const change of changesOf(rows)) {
      if (isWritten !== true) break;
      isWritten = await this.#writeRow({ ...change, ...rests });
    }
    return isWritten;
  }

  advice(): Promise<string[]> {
    return this.#session.asked(() => this.#dialect.advice(this.#session.query, 'registry'));
  }

  findings(): Promise<Finding[]> {
    const { lossWindowMs } = this;
    return this.#session.asked(() => this.#dialect.findings(this.#session.query, lossWindowMs));
  }

  /** A statement of the operator. */
  run(sql: string): Promise<void> {
    return this.#session.ordered(sql);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /** @param isEnough where it has been written already, or what follows will be refused */
  async #writeRow(change: RowChange, isEnough = false): Promise<boolean | undefined> {
    const count = await this.#session.written((statements) => statements.write(change));
    if (count === undefined) return undefined;
    return isEnough || count === 1 + (change.moreWorkerIds?.length ?? 0);
  }
}
