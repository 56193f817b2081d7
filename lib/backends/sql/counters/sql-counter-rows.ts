/**
 * Counters in one table: a store of rows by compare-and-swap, for `RowCounters`.
 *
 * Promise: a row is written by one statement that carries all it rests on, its version and the
 * server that was read, so that no transaction is needed.
 */
import { randomInt } from 'node:crypto';
import type { KeyedRead, KeyedRows, KeyedWrite } from '../../../registry/keyed-rows.js';
import type { ClockPolicy } from '../../../registry/registry-clock.js';
import type { Dialect, Statements } from '../dialects/dialect.js';
import { answered, textIn } from '../dialects/rows.js';
import { oddAnswer, rowsOf, type SqlRow, type Statement } from '../sql-query.js';
import { SqlSession, type SqlSessionParts } from '../sql-session.js';

/** A counter that is made again must not begin with a version that it ever had before. */
const START_VERSION_BITS = 40;
/** Nor may one of an older copy come to a version that was read before it was restored. */
const STEP_MAX = 2 ** 20;
const DIGITS = /^\d{1,19}$/;

export interface SqlCounterParts extends Omit<SqlSessionParts, 'holds'> {
  readonly clock?: ClockPolicy;
}

export class SqlCounterRows implements KeyedRows {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
  readonly #dialect: Dialect;
  readonly #session: SqlSession;

  constructor(parts: SqlCounterParts) {
    const { lossWindowMs, clock } = parts;
    this.#dialect = parts.dialect;
    this.#session = new SqlSession({ ...parts, holds: 'counters' });
    this.place = this.#session.place;
    this.lossWindowMs = lossWindowMs;
    if (clock !== undefined) this.clock = clock;
  }

  async read(keys: readonly string[]): Promise<KeyedRead> {
    this.#session.reopen();
    const rows = await this.#rows((statements) => statements.readCounters(keys), true);
    if (rows.length > keys.length) throw oddAnswer('more rows than were asked for');
    return readIn(rows);
  }

  async readAll(): Promise<KeyedRead> {
    this.#session.reopen();
    return readIn(await this.#rows((statements) => statements.readCounters()));
  }

  async write({ key: counter, number: next, version, text, server }: KeyedWrite): Promise<boolean> {
    const nextVersion =
      version === undefined
        ? randomInt(1, 2 ** START_VERSION_BITS)
        : version + randomInt(1, STEP_MAX);
    const change = { counter, next: String(next), version, nextVersion, text, server };
    return (await this.#session.written((statements) => statements.writeCounter(change))) === 1;
  }

  advice(): Promise<string[]> {
    this.#session.reopen();
    return this.#session.asked(() => this.#dialect.advice(this.#session.query));
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

function readIn(rows: readonly SqlRow[]): KeyedRead {
  return { ...momentIn(rows[0]), rows: rows.filter(isStored).map(storedIn) };
}

function momentIn(row: SqlRow | undefined) {
  return { timeMs: answered(row, 'time_ms'), server: textIn(row, 'server') };
}

/** Where nothing is stored, all columns of the table are null in the one row that came. */
function isStored(row: SqlRow): boolean {
  return row['counter'] !== null;
}

function storedIn(row: SqlRow) {
  const next = textIn(row, 'next_position');
  if (!DIGITS.test(next)) throw oddAnswer('no position in its column next');
  const [key, text] = [textIn(row, 'counter'), textIn(row, 'data')];
  return { key, number: BigInt(next), text, version: answered(row, 'version') };
}
