/**
 * A registry in one table: a store of rows by compare-and-swap, for `RegistrySupport`.
 *
 * Promise: each row is written by one statement that carries all it rests on, so that nothing is
 * locked between two statements and no transaction is needed. What somebody else changed meanwhile
 * is answered with false.
 */
import { randomInt } from 'node:crypto';
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
import type { RowChange, Statements } from './dialects/dialect.js';
import { answered, sliceIn } from './dialects/rows.js';
import { rowsOf, type Statement } from './sql-query.js';
import { SqlSession, type SqlSessionParts } from './sql-session.js';

/** A registry created again must not begin with a version its header ever had before. */
const START_VERSION_BITS = 40;
/** Nor may a header that was lost and written again come to a version it had. */
const HEADER_STEP_MAX = 2 ** 20;

export interface SqlStoreParts extends Omit<SqlSessionParts, 'holds'> {
  readonly clock?: ClockPolicy;
}

export class SqlStore implements SliceStore {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
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

  read(question: SliceQuestion): Promise<RegistrySlice> {
    this.#session.reopen();
    return this.#slice((statements) => statements.read(question));
  }

  readAll(): Promise<RegistrySlice> {
    return this.#slice((statements) => statements.readAll());
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
    return this.#session.asked(() => this.#dialect.advice(this.#session.query));
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

  #slice(statementOf: (statements: Statements) => Statement): Promise<RegistrySlice> {
    return this.#session.asked(async (statements) => {
      const rows = rowsOf(await this.#session.run(statementOf(statements)));
      if (rows[0] !== undefined) statements.check(rows[0]);
      return sliceIn(rows);
    });
  }

  async #writeRow(change: RowChange): Promise<boolean> {
    const count = await this.#session.written((statements) => statements.write(change));
    return count === 1 + (change.moreWorkerIds?.length ?? 0);
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
