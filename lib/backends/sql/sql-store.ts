/**
 * A registry in one table: a store of rows by compare-and-swap, for `RegistrySupport`.
 *
 * Promise: each row is written by one statement that carries all it rests on, so that nothing is
 * locked between two statements and no transaction is needed. What somebody else changed meanwhile
 * is answered with false.
 */
import { randomInt } from 'node:crypto';
import { pause, systemTimers } from '../../patience/timers.js';
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
import type { Dialect, RegistryTable, RowChange, Statements } from './dialects/dialect.js';
import { answered, sliceIn } from './dialects/rows.js';
import { changesOf, headerChange } from './row-changes.js';
import { codesOf, sqlError } from './sql-error.js';
import type { SqlConnection } from './connection/sql-connection.js';
import { rowsOf, type SqlQuery, type Statement } from './sql-query.js';

/** A SELECT is refused by a conflict only where every statement is serializable. */
const READ_COUNT = 10;
const READ_PAUSE_MS = 10;
/** Of a list, at a time. */
const PAGE_ROWS = 10_000;

export interface SqlStoreParts extends RegistryTable {
  readonly connection: SqlConnection;
  readonly dialect: Dialect;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
}

export class SqlStore implements SliceStore {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
  // Not to be seen by whoever prints the store: a pool holds its password.
  readonly #parts: SqlStoreParts;
  #statements: Promise<Statements> | undefined;

  constructor(parts: SqlStoreParts) {
    this.#parts = parts;
    const { connection, table, namespace, lossWindowMs, clock } = parts;
    this.place = `${connection.where.text}, table ${table}, namespace ${namespace}`;
    this.lossWindowMs = lossWindowMs;
    if (clock !== undefined) this.clock = clock;
  }

  /** The database, for messages; without a password. */
  get where(): string {
    return this.#parts.connection.where.text;
  }

  read(question: SliceQuestion): Promise<RegistrySlice> {
    // Whoever leases closes as well, so that an application may follow one that has closed it.
    this.#parts.connection.reopen?.();
    return this.#slice((statements) => statements.read(question), true);
  }

  async readAll(countMax = Infinity): Promise<RegistrySlice> {
    const rows: StoredRow[] = [];
    for (let after = HEADER_ID - 1; ; after = rows.at(-1)!.workerId) {
      // One more than that for the header.
      const rowCount = Math.min(PAGE_ROWS, countMax + 1 - rows.length);
      const page = await this.#slice((statements) => statements.page(after, rowCount));
      const found = page.rows.toSorted((a, b) => a.workerId - b.workerId);
      rows.push(...found);
      if (found.length < rowCount || rows.length > countMax) return { ...page, rows };
    }
  }

  ceilings(min: number, max: number): Promise<Pick<RegistryRow, 'workerId' | 'ceilingMs'>[]> {
    return this.#asked(async (statements) => {
      const rows = rowsOf(await this.#run(statements.ceilings(min, max)));
      return rows.map((row) => ({
        workerId: answered(row, 'worker_id'),
        ceilingMs: answered(row, 'ceiling'),
      }));
    });
  }

  async write(write: SliceWrite): Promise<boolean> {
    const { server, headerVersion, rows, isTimeOnly = false } = write;
    const own = headerChange(write);
    if (own !== undefined && !(await this.#writeRow(own, isTimeOnly))) return false;
    const rests = { server, headerVersion: own?.nextVersion ?? headerVersion };
    for (const change of changesOf(rows)) {
      if (!(await this.#writeRow({ ...change, ...rests }))) return false;
    }
    return true;
  }

  advice(): Promise<string[]> {
    return this.#asked(() => this.#parts.dialect.advice(this.#query));
  }

  findings(): Promise<Finding[]> {
    const { dialect, lossWindowMs } = this.#parts;
    return this.#asked(() => dialect.findings(this.#query, lossWindowMs));
  }

  /** A statement of the operator. */
  async run(sql: string): Promise<void> {
    try {
      await this.#run({ sql, params: [] });
    } catch (error) {
      throw this.#error(error);
    }
  }

  async close(): Promise<void> {
    await this.#parts.connection.close?.();
  }

  #slice(
    statementOf: (statements: Statements) => Statement,
    isForWriting = false,
  ): Promise<RegistrySlice> {
    return this.#asked(async (statements) => {
      const rows = rowsOf(await this.#run(statementOf(statements)));
      if (rows[0] !== undefined) statements.check(rows[0]);
      if (rows[0] !== undefined && isForWriting) statements.checkPrimary(rows[0]);
      return sliceIn(rows);
    });
  }

  async #asked<T>(ask: (statements: Statements) => Promise<T>): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        return await ask(await this.#prepared());
      } catch (error) {
        if (count === READ_COUNT || !this.#isConflict(error)) throw this.#error(error);
        await pause(systemTimers, randomInt(1, READ_PAUSE_MS * count));
      }
    }
  }

  /** @param isEnough where it has been written already, or what follows will be refused */
  async #writeRow(change: RowChange, isEnough = false): Promise<boolean> {
    const statements = await this.#prepared();
    try {
      const answer = await this.#run(statements.write(change));
      const count = statements.writtenCount(answer);
      return isEnough || count === 1 + (change.moreWorkerIds?.length ?? 0);
    } catch (error) {
      if (this.#isConflict(error)) return false;
      throw this.#error(error);
    }
  }

  #isConflict(error: unknown): boolean {
    return this.#parts.dialect.isConflict(codesOf(error));
  }

  #error(error: unknown): Error {
    const { connection, dialect, table } = this.#parts;
    return sqlError(error, { dialect, where: connection.where, table });
  }

  #run({ sql, params }: Statement): Promise<unknown> {
    return this.#query(sql, params);
  }

  readonly #query: SqlQuery = (sql, params) => this.#parts.connection.query(sql, params);

  #prepared(): Promise<Statements> {
    this.#statements ??= this.#parts.dialect
      .prepare(this.#query, this.#parts)
      .catch((error: unknown) => {
        this.#statements = undefined;
        throw error;
      });
    return this.#statements;
  }
}
