/**
 * Rows in one database table, by compare-and-swap: a registry for `RegistrySupport`, counters for
 * `RowCounters`, locks for `RowLocks`.
 *
 * Guarantee: one statement writes each row and contains all its conditions, so nothing is locked
 * between two statements and no transaction is required. If another process has changed the row,
 * the result is false. The remembered rows are in the same file, because each read and write
 * updates them.
 */
import { randomInt } from 'node:crypto';
import { triedRights } from '../../registry/row-inspector.js';
import type { Finding } from '../../registry/snapshot.js';
import {
  HEADER_KEY,
  numberIn,
  SharedReads,
  type Row,
  type RowChange,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type SharedQuery,
  type StoredRow,
} from '../../rows/row-store.js';
import type { ClockPolicy } from '../../rows/store-clock.js';
import {
  keyAndNumberOf,
  snapshotIn,
  type Dialect,
  type SqlChange,
  type SqlTable,
} from './dialects/dialect.js';
import { SWEPT_ROWS } from './dialects/statements.js';
import { oddAnswer, rowsOf, type SqlRow } from './sql-connection.js';
import { SqlSession, type SqlSessionParts } from './sql-session.js';

/** The number of rows per page of a list. */
const PAGE_ROWS = 10_000;

export class SqlRows implements RowStore {
  readonly location: string;
  readonly namespace: string;
  readonly lossWindowMs: number;
  readonly clock?: ClockPolicy;
  readonly comparesRows = true;
  readonly #dialect: Dialect;
  readonly #session: SqlSession;
  readonly #kind: SqlTable['kind'];
  /** True if a write may have been inside a transaction that the application rolls back. */
  readonly #isDoubted: boolean;
  readonly #reads = new SharedReads((query) => this.#read(query));
  /** Checks at once whether writes are committed. */
  readonly #commits = new SharedReads(({ keys }) => this.#session.committed(keys));
  readonly #remembered: RememberedRows | undefined;
  #sweepFault: string | undefined;

  constructor(parts: SqlSessionParts & { readonly clock?: ClockPolicy }) {
    const { lossWindowMs, clock, kind, dialect, connection, namespace } = parts;
    this.namespace = namespace;
    this.#kind = kind;
    // Otherwise, only a read shows whether its session would keep a write.
    const isKept = dialect.tellsCommits || connection.close !== undefined;
    if (kind === 'locks' && isKept) this.#remembered = new RememberedRows();
    this.#isDoubted = connection.close === undefined && dialect.name === 'postgres';
    this.#dialect = dialect;
    this.#session = new SqlSession(parts);
    this.location = this.#session.location;
    this.lossWindowMs = lossWindowMs;
    if (clock !== undefined) this.clock = clock;
  }

  /** The database, for messages; without a password. */
  get where(): string {
    return this.#session.where;
  }

  async read(query: RowQuery): Promise<RowSnapshot> {
    this.#session.reopen();
    const snapshot = snapshotIn(await this.#reads.read(query), this.#kind, query);
    this.#remembered?.noteRead(snapshot);
    return snapshot;
  }

  /** Only for locks, whose rows one process writes for a while. */
  remembered(keys: readonly string[]): RowSnapshot | undefined {
    this.#session.reopen();
    return this.#remembered?.of(keys);
  }

  /**
   * Remembers the text about a row that its writer sent.
   *
   * @returns a function that is true while nothing later is known of the row
   */
  noteTold(text: string): (() => boolean) | undefined {
    return this.#remembered?.noteTold(text);
  }

  async #read(query: SharedQuery): Promise<SqlRow[]> {
    const rows = await this.#session.read((statements) => statements.read(query), true);
    const countMax = query.keys.length + query.tokens.length;
    if (rows.length > Math.max(1, countMax)) throw oddAnswer('more rows than were asked for');
    return rows;
  }

  /** Only the order of worker IDs is the same in all databases, so only a registry has pages. */
  async readAll(countMax = Infinity): Promise<RowSnapshot> {
    if (this.#kind !== 'registry') {
      this.#session.reopen();
      const all = await this.#session.read((statements) => statements.read());
      return snapshotIn(all, this.#kind);
    }
    const header = { keys: [HEADER_KEY], tokens: [] };
    const first = await this.#session.read((statements) => statements.read(header));
    const rows: StoredRow[] = [...snapshotIn(first, this.#kind).rows];
    for (let from = 0; ; from = Number(rows.at(-1)!.key) + 1) {
      const rowCount = Math.min(PAGE_ROWS, countMax + 1 - rows.length);
      const page = snapshotIn(
        await this.#session.read((statements) => statements.page(from, rowCount)),
        this.#kind,
      );
      const found = page.rows.toSorted((a, b) => Number(a.key) - Number(b.key));
      rows.push(...found);
      if (found.length < rowCount || rows.length > countMax) return { ...page, rows };
    }
  }

  ceilings(min: number, max: number): Promise<Pick<Row, 'key' | 'number'>[]> {
    return this.#session.asked(async (statements) => {
      const rows = rowsOf(await this.#session.run(statements.ceilings(min, max)));
      return rows.map((row) => keyAndNumberOf(row, this.#kind));
    });
  }

  async write(write: RowWrite): Promise<boolean | undefined> {
    const own = this.#headerChange(write);
    const changes = this.#changesOf(write, own?.nextVersion ?? write.headerVersion);
    const transactions: string[] = [];
    for (const change of own === undefined ? changes : [own, ...changes]) {
      const written = await this.#session.written((statements) => statements.write(change));
      if (written === undefined) return undefined;
      if (written.transaction !== undefined) transactions.push(written.transaction);
      // A later write decides whether the time in a header was enough.
      const isEnough = change === own && write.isTimeOnly === true;
      if (!isEnough && written.count !== 1 + (change.moreKeys?.length ?? 0)) return false;
      if (change !== own) this.#remembered?.noteWritten(change);
    }
    if (!this.#isDoubted) return true;
    const granted = changes.filter(({ moreKeys }) => moreKeys === undefined);
    return granted.length === 0 || this.#isKept(granted, transactions);
  }

  /**
   * A pool may provide a connection on which the application began a transaction after the read,
   * and may roll it back. If the server cannot report commits, a lease is read once more. Another
   * session finds the lease then, and in the same transaction the read is rejected. For a counter,
   * this proves nothing, because others may have written it since.
   */
  async #isKept(
    granted: readonly SqlChange[],
    transactions: readonly string[],
  ): Promise<true | undefined> {
    const committed = await this.#commits.read({ keys: transactions });
    if (committed !== undefined) {
      const areCommitted = transactions.every((id) => committed.has(id));
      return (areCommitted && transactions.length > 0) || undefined;
    }
    return this.#kind !== 'registry' || this.#isFound(granted);
  }

  async #isFound(leases: readonly SqlChange[]): Promise<true | undefined> {
    const { rows } = await this.read({ keys: leases.map(({ row }) => row.key) });
    const factsOf = ({ key, number, text }: Row, version: number) =>
      JSON.stringify([key, version, String(number), text]);
    const found = new Set(rows.map((row) => factsOf(row, row.version)));
    const isFound = leases.every(({ row, nextVersion }) => found.has(factsOf(row, nextVersion)));
    return isFound || undefined;
  }

  async sweep(below: bigint): Promise<boolean> {
    try {
      const written = await this.#session.written((statements) => statements.sweep(below));
      this.#sweepFault = undefined;
      return written?.count === SWEPT_ROWS;
    } catch (error) {
      this.#sweepFault = (error as Error).message;
      throw error;
    }
  }

  async advice(): Promise<string[]> {
    if (this.#kind !== 'registry') this.#session.reopen();
    const { query } = this.#session;
    const found = await this.#session.asked(() => this.#dialect.advice(query, this.#kind));
    if (this.#sweepFault === undefined) return found;
    return [...found, `Old locks cannot be removed from the table. ${this.#sweepFault}`];
  }

  async findings(): Promise<Finding[]> {
    const { query } = this.#session;
    const find = () => this.#dialect.findings(query, this.lossWindowMs);
    return [...(await this.#session.asked(find)), await triedRights(this)];
  }

  /** Runs an operator's statement. */
  run(sql: string): Promise<void> {
    return this.#session.ordered(sql);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /** Undefined if the header does not change. */
  #headerChange(write: RowWrite): SqlChange | undefined {
    const { header: row, headerVersion: version, headerNumber, isTimeOnly, server } = write;
    if (row === undefined) return undefined;
    const isOld = version !== undefined;
    const later = isTimeOnly === true && ({ sign: '<', number: row.number } as const);
    const numberIs = isOld ? later || ({ sign: '=', number: headerNumber } as const) : undefined;
    const nextVersion = isOld && later ? version : versionAfter(version);
    return { row, version, headerVersion: undefined, server, nextVersion, numberIs };
  }

  /** Prepared rows come in one step, all others one by one. */
  #changesOf({ rows, ...facts }: RowWrite, headerVersion: number | undefined): SqlChange[] {
    const { server, betweenMs, mayBeLost, channel } = facts;
    const own = ({ row, version }: RowChange): SqlChange => {
      // The version of a worker ID's row counts its writes. It may restart, because the row also
      // depends on the header, whose versions are never reused.
      const isCounted = this.#kind === 'registry' && row.key !== HEADER_KEY;
      const nextVersion = isCounted ? (version ?? 0) + 1 : versionAfter(version, mayBeLost);
      return { row, version, nextVersion, server, headerVersion, betweenMs, mayBeLost, channel };
    };
    if (this.#kind !== 'registry') return rows.map(own);
    const isBlank = ({ row, version }: RowChange) => version === undefined && row.number === 0n;
    const [blank, ...more] = rows.filter(isBlank);
    const others = rows.filter((change) => !isBlank(change)).map(own);
    if (blank === undefined) return others;
    return [{ ...own(blank), moreKeys: more.map(({ row }) => row.key) }, ...others];
  }
}

/** A row that is created again must not begin with an earlier version. */
const START_VERSION_BITS = 40;
/** A row of an older copy must not reach a version that was read before the restore either. */
const STEP_MAX = 2 ** 20;
/** Some centuries of steps; then it restarts. */
const VERSION_MAX = 2 ** 52;

/** Odd for a write that may be lost, so that no grant that replaces it has the same version. */
function versionAfter(version: number | undefined, mayBeLost = false): number {
  const isNew = version === undefined || version > VERSION_MAX;
  const next = isNew ? randomInt(1, 2 ** START_VERSION_BITS) : version + randomInt(1, STEP_MAX);
  return (next % 2 === 1) === mayBeLost ? next : next + 1;
}

/*
 * The rows of locks as last read, written or received in a message. With them, a process that
 * releases a lock, or is notified of a release, writes without a read.
 *
 * Guarantee: their number is limited, and nothing depends on them. Each write contains the versions
 * that it depends on, and fails if the row has changed since.
 */

const REMEMBERED_COUNT = 1024;

class RememberedRows {
  readonly #rows = new Map<string, StoredRow>();
  #header: StoredRow | undefined;
  #server = '';
  /** The latest server time so far. */
  #timeMs = 0;

  of(keys: readonly string[]): RowSnapshot | undefined {
    const known = keys.map((key) => (key === HEADER_KEY ? this.#header : this.#rows.get(key)));
    const rows = known.filter((row) => row !== undefined);
    if (rows.length < keys.length) return undefined;
    return { timeMs: this.#timeMs, server: this.#server, rows };
  }

  noteRead({ timeMs, server, isPutBack = false, rows }: RowSnapshot): void {
    const header = rows.find(({ key }) => key === HEADER_KEY);
    const isOther = server !== this.#server || header?.version !== this.#header?.version;
    if (isOther || isPutBack) {
      this.#rows.clear();
      this.#timeMs = 0;
    }
    [this.#server, this.#header] = [server, isPutBack ? undefined : header];
    if (this.#header === undefined) return;
    this.#timeMs = Math.max(this.#timeMs, timeMs);
    for (const row of rows) if (row !== header) this.#note(row);
  }

  noteWritten({ row, nextVersion: version, headerVersion, server }: SqlChange): void {
    if (this.#isBeside(server, headerVersion)) this.#note({ ...row, version });
  }

  noteTold(text: string): (() => boolean) | undefined {
    const facts = TOLD.exec(text)?.slice(1);
    if (facts === undefined) return;
    const [timeMs, version, headerVersion] = facts.map(Number) as [number, number, number];
    const [number, server, key, rest] = facts.slice(3) as [string, string, string, string];
    const position = numberIn(number);
    if (position === undefined || !this.#isBeside(server, headerVersion)) return;
    this.#timeMs = Math.max(this.#timeMs, timeMs);
    const isNews = () => (this.#rows.get(key)?.version ?? 0) <= version;
    if (isNews()) this.#note({ key, number: position, version, text: rest });
    return isNews;
  }

  #isBeside(server: string, headerVersion: number | undefined): boolean {
    const { version } = this.#header ?? {};
    return version !== undefined && version === headerVersion && server === this.#server;
  }

  #note(row: StoredRow): void {
    this.#rows.delete(row.key);
    this.#rows.set(row.key, row);
    if (this.#rows.size <= REMEMBERED_COUNT) return;
    const [oldest] = this.#rows.keys();
    this.#rows.delete(oldest!);
  }
}

/** A message: the time, version, version of the header, number, server, key and text of a row. */
const TOLD = /^(\d{1,15}) (\d{1,16}) (\d{1,16}) (\d+) (\S+) (\S+) (.+)$/s;
