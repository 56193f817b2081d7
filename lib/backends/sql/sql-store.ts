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
  type RegistryRow,
  type RegistrySlice,
  type RowWrite,
  type SliceQuestion,
  type SliceStore,
  type SliceWrite,
} from '../../registry/slice-store.js';
import type { Dialect, RegistryTable, RowChange, Statements } from './dialects/dialect.js';
import { answered, sliceIn } from './dialects/rows.js';
import { codesOf, sqlError } from './sql-error.js';
import type { SqlConnection } from './connection/sql-connection.js';
import { rowsOf, type SqlQuery, type Statement } from './sql-query.js';

/** A registry created again must not begin with a version its header ever had before. */
const START_VERSION_BITS = 40;
/** Nor may a header that was lost and written again come to a version it had. */
const HEADER_STEP_MAX = 2 ** 20;
/** A SELECT is refused by a conflict only where every statement is serializable. */
const READ_COUNT = 10;
const READ_PAUSE_MS = 10;

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

  readAll(): Promise<RegistrySlice> {
    return this.#slice((statements) => statements.readAll());
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

  async write({ server, headerVersion, header, rows }: SliceWrite): Promise<boolean> {
    const own = header && headerChange(header, headerVersion, server);
    if (own !== undefined && !(await this.#writeRow(own))) return false;
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

  async #writeRow(change: RowChange): Promise<boolean> {
    const statements = await this.#prepared();
    try {
      const answer = await this.#run(statements.write(change));
      return statements.writtenCount(answer) === 1 + (change.moreWorkerIds?.length ?? 0);
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

function headerChange(row: RegistryRow, version: number | undefined, server: string): RowChange {
  const nextVersion =
    version === undefined
      ? randomInt(1, 2 ** START_VERSION_BITS)
      : version + randomInt(1, HEADER_STEP_MAX);
  return { ...textsOf(row), version, nextVersion, headerVersion: undefined, server };
}

/** Rows that are made for later come in one step, all the others one by one. */
function changesOf(rows: readonly RowWrite[]): ReturnType<typeof slotChange>[] {
  const isBlank = ({ row, version }: RowWrite) => version === undefined && row.ceilingMs === 0;
  const [blank, ...more] = rows.filter(isBlank);
  const others = rows.filter((write) => !isBlank(write)).map(slotChange);
  if (blank === undefined) return others;
  const moreWorkerIds = more.map(({ row }) => row.workerId);
  return [{ ...slotChange(blank), moreWorkerIds }, ...others];
}

function slotChange({ row, version }: RowWrite): Omit<RowChange, 'headerVersion' | 'server'> {
  return { ...textsOf(row), version, nextVersion: (version ?? 0) + 1 };
}

function textsOf({ workerId, ceilingMs, token, text }: RegistryRow) {
  return { workerId, ceilingMs, token: token ?? null, text };
}
