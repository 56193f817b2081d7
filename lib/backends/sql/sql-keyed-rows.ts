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
import type { Dialect } from './dialects/dialect.js';
import { SWEPT_ROWS } from './dialects/keyed-statements.js';
import { answered, eachOnce, textIn } from './dialects/rows.js';
import { isPutBack, withoutSignature } from './signature.js';
import { oddAnswer, type SqlRow } from './sql-query.js';
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
    const rows = await this.#session.read((statements) => statements.readKeyed(keys), true);
    if (rows.length > keys.length) throw oddAnswer('more rows than were asked for');
    return readIn(rows);
  }

  async readAll(): Promise<KeyedRead> {
    this.#session.reopen();
    return readIn(await this.#session.read((statements) => statements.readKeyed()));
  }

  async write(write: KeyedWrite): Promise<boolean | undefined> {
    const change = { ...write, nextVersion: versionAfter(write.version) };
    const count = await this.#session.written((statements) => statements.writeKeyed(change));
    return count === undefined ? undefined : count === 1;
  }

  async sweep(below: bigint): Promise<boolean> {
    try {
      const count = await this.#session.written((statements) => statements.sweepKeyed(below));
      this.#sweepFault = undefined;
      return count === SWEPT_ROWS;
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
}

function versionAfter(version: number | undefined): number {
  if (version === undefined || version > VERSION_MAX) {
    return randomInt(1, 2 ** START_VERSION_BITS);
  }
  return version + randomInt(1, STEP_MAX);
}

function readIn(rows: readonly SqlRow[]): KeyedRead {
  const stored = rows.filter(isStored);
  const found = eachOnce(stored.map(storedIn), ({ key }) => key);
  return {
    ...momentIn(rows[0]),
    isPutBack: found.some((row, at) => isPutBack(row, stored[at]!['stamp'])),
    rows: found.map((row) => ({ ...row, text: withoutSignature(row.text) })),
  };
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
