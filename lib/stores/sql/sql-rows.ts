/**
 * A registry in one table: a store of rows by compare-and-swap, for `RegistrySupport`.
 *
 * Guarantee: each row is written by one statement that carries all it rests on, so that nothing is
 * locked between two statements and no transaction is needed. What somebody else changed meanwhile
 * is answered with false.
 */
import { randomInt } from 'node:crypto';
import type { Finding } from '../../registry/registry-view.js';
import {
  HEADER_ID,
  type RegistryRow,
  type RegistrySlice,
  type RowWrite,
  type SliceQuestion,
  type SliceStore,
  type SliceWrite,
  type StoredRow,
} from '../../registry/slice-store.js';
import type { KeyedRead, KeyedRows, KeyedWrite } from '../../rows/row-store.js';
import type { ClockPolicy } from '../../rows/store-clock.js';
import { numberIn } from '../../rows/stored-fields.js';
import {
  answered,
  eachOnce,
  sliceIn,
  textIn,
  type Dialect,
  type RowChange,
} from './dialects/dialect.js';
import { SWEPT_ROWS } from './dialects/statements.js';
import { isPutBack, withoutSignature } from './signature.js';
import { oddAnswer, rowsOf, type SqlRow } from './sql-query.js';
import { SqlSession, type SqlSessionParts } from './sql-session.js';

/** Of a list, at a time. */
const PAGE_ROWS = 10_000;

interface SqlStoreParts extends Omit<SqlSessionParts, 'holds'> {
  readonly clock?: ClockPolicy;
}

export class SqlStore implements SliceStore {
  readonly location: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
  readonly comparesRows = true;
  readonly #dialect: SqlStoreParts['dialect'];
  readonly #session: SqlSession;

  constructor(parts: SqlStoreParts) {
    const { lossWindowMs, clock } = parts;
    this.#dialect = parts.dialect;
    this.#session = new SqlSession({ ...parts, holds: 'registry' });
    this.location = this.#session.location;
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

/*
 * Rows under names in one table, with compare-and-swap: counters for `RowCounters`, locks for
 * `RowLocks`.
 *
 * Guarantee: a row is written by one statement that carries all it rests on, its version and the
 * server that was read, so that no transaction is needed.
 */

/** A row that is made again must not begin with a version that it ever had before. */
const START_VERSION_BITS = 40;
/** Nor may one of an older copy come to a version that was read before it was restored. */
const STEP_MAX = 2 ** 20;
/** Some centuries of steps; then it begins again. */
const VERSION_MAX = 2 ** 52;

interface SqlKeyedParts extends SqlSessionParts {
  readonly holds: 'counters' | 'locks';
  readonly clock?: ClockPolicy;
}

export class SqlKeyedRows implements KeyedRows {
  readonly location: string;
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
    this.location = this.#session.location;
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

/*
 * What a write of the registry changes in its table, row by row.
 *
 * Guarantee: no header begins with a version that it had before, and none but one whose time alone
 * is new keeps it.
 */

/** Nor may a header that was lost and written again come to a version it had. */
const HEADER_STEP_MAX = 2 ** 20;

/** Undefined where the header stays as it is. */
function headerChange(write: SliceWrite): RowChange | undefined {
  const { header, headerVersion: version, headerCeilingMs, isTimeOnly, server } = write;
  if (header === undefined) return undefined;
  const own = { ...textsOf(header), version, headerVersion: undefined, server };
  if (version === undefined) return { ...own, nextVersion: randomInt(1, 2 ** START_VERSION_BITS) };
  if (isTimeOnly === true) {
    return { ...own, nextVersion: version, ceilingIs: { sign: '<', ms: header.ceilingMs } };
  }
  const nextVersion = version + randomInt(1, HEADER_STEP_MAX);
  return { ...own, nextVersion, ceilingIs: { sign: '=', ms: headerCeilingMs } };
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
