/**
 * Rows under names in one table, with compare-and-swap: counters for `RowCounters`, locks for
 * `RowLocks`.
 *
 * Promise: a row is written by one statement that carries all it rests on, its version and the
 * server that was read, so that no transaction is needed.
 */
import { randomInt } from 'node:crypto';
import type { KeyedRead, KeyedRows, KeyedWrite } from '../../registry/keyed-rows.js';
import type { ClockPolicy } from '../../registry/registry-clock.js';
import { numberIn } from '../../registry/stored-fields.js';
import type { Dialect, Statements } from './dialects/dialect.js';
import { answered, textIn } from './dialects/rows.js';
import { oddAnswer, rowsOf, type SqlRow, type Statement } from './sql-query.js';
import { SqlSession, type SqlSessionParts } from './sql-session.js';

/** A row that is made again must not begin with a version that it ever had before. */
const START_VERSION_BITS = 40;
/** Nor may one of an older copy come to a version that was read before it was restored. */
const STEP_MAX = 2 ** 20;
/** Some centuries of steps; then it begins again. */
const VERSION_MAX = 2 ** 52;

export interface SqlKeyedParts extends SqlSessionParts {
  readonly holds: 'counters' | 'locks';
  readonly clock?: ClockPolicy;
}

export class SqlKeyedRows implements KeyedRows {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
  readonly #dialect: Dialect;
  readonly #session: SqlSession;
  readonly #holds: SqlKeyedParts['holds'];
  #sweepFault: string | undefined;

  constructor(parts: SqlKeyedParts) {
    const { lossWindowMs, clock, holds } = parts;
    this.#holds = holds;
    this.#dialect = parts.dialect;
    this.#session = new SqlSession(parts);
    this.place = this.#session.place;
    this.lossWindowMs = lossWindowMs;
    if (clock !== undefined) this.clock = clock;
  }

  async read(keys: readonly string[]): Promise<KeyedRead> {
    this.#session.reopen();
    const rows = await this.#rows((statements) => statements.readKeyed(keys), true);
    if (rows.length > keys.length) throw oddAnswer('more rows than were asked for');
    return readIn(rows);
  }

  async readAll(): Promise<KeyedRead> {
    this.#session.reopen();
    return readIn(await this.#rows((statements) => statements.readKeyed()));
  }

  async write(write: KeyedWrite): Promise<boolean> {
    const change = { ...write, nextVersion: versionAfter(write.version) };
    return (await this.#session.written((statements) => statements.writeKeyed(change))) === 1;
  }

  async sweep(below: bigint): Promise<void> {
    try {
      await this.#session.written((statements) => statements.sweepKeyed(below));
      this.#sweepFault = undefined;
    } catch (error) {
      this.#sweepFault = (error as Error).message;
      throw error;
    }
  }

  async advice(): Promise<string[]> {
    this.#session.reopen();
    const { query } = this.#session;
    const found = await this.#session.asked(() => this.#dialect.advice(query, this.#holds));
    if (this.#sweepFault === undefined) return found;
    return [...found, `Old locks cannot be removed from the table. ${this.#sweepFault}`];
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #rows(
    statementOf: (statements: Statements) => Statement,
    isForWriting = false,
  ): Promise<SqlRow[]> {
    return this.#session.asked(async (statements) => {
      const rows = rowsOf(await this.#session.run(statementOf(statements)));
      if (rows[0] !== undefined) statements.check(rows[0]);
      if (rows[0] !== undefined && isForWriting) statements.checkPrimary(rows[0]);
      return rows;
    });
  }
}

function versionAfter(version: number | undefined): number {
  if (version === undefined || version > VERSION_MAX) {
    return randomInt(1, 2 ** START_VERSION_BITS);
  }
  return version + randomInt(1, STEP_MAX);
}

function readIn(rows: readonly SqlRow[]): KeyedRead {
  return { ...momentIn(rows[0]), rows: rows.filter(isStored).map(storedIn) };
}

function momentIn(row: SqlRow | undefined) {
  return { timeMs: answered(row, 'time_ms'), server: textIn(row, 'server') };
}

/** Where nothing is stored, all columns of the table are null in the one row that came. */
function isStored(row: SqlRow): boolean {
  return row['stored_key'] !== null;
}

function storedIn(row: SqlRow) {
  const number = numberIn(textIn(row, 'stored_number'));
  if (number === undefined) throw oddAnswer('no whole number in its column stored_number');
  const [key, text] = [textIn(row, 'stored_key'), textIn(row, 'data')];
  return { key, number, text, version: answered(row, 'version') };
}
