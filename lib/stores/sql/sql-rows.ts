/**
 * Rows in one table of a database, by compare-and-swap: a registry for `RegistrySupport`, counters
 * for `RowCounters`, locks for `RowLocks`.
 *
 * Guarantee: each row is written by one statement that carries all it depends on, so nothing is
 * locked between two statements and no transaction is needed. If another process changed the row
 * meanwhile, the answer is false. What a store remembers of its rows is with it in one file, since
 * each read and write notes it.
 */
import { randomInt } from 'node:crypto';
import { triedRights } from '../../registry/row-inspector.js';
import type { Finding } from '../../registry/snapshot.js';
import {
  fieldsIn,
  HEADER_KEY,
  isWhole,
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

/** A list is read in pages of so many. */
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
  /** True if a write may have been made inside a transaction that another one rolls back. */
  readonly #isDoubted: boolean;
  readonly #reads = new SharedReads((query) => this.#read(query));
  /** Writes of which it is asked at once whether they are committed. */
  readonly #commits = new SharedReads(({ keys }) => this.#session.committed(keys));
  readonly #remembered: RememberedRows | undefined;
  #sweepFault: string | undefined;

  constructor(parts: SqlSessionParts & { readonly clock?: ClockPolicy }) {
    const { lossWindowMs, clock, kind, dialect, connection, namespace } = parts;
    this.namespace = namespace;
    this.#kind = kind;
    // Else only a read tells whether the session it gets would keep what is written.
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

  /** Only of locks, of which one row is written by one process for a while. */
  remembered(keys: readonly string[]): RowSnapshot | undefined {
    this.#session.reopen();
    return this.#remembered?.of(keys);
  }

  /**
   * Notes what a process told of a row with its write.
   *
   * @returns what says whether nothing later is known of the row
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

  /** Only worker IDs have an order that all databases agree on, so that a registry has pages. */
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
    const { server, headerVersion, rows, isTimeOnly = false, channel } = write;
    const { betweenMs, mayBeLost } = write;
    const own = this.#headerChange(write);
    const transactions: string[] = [];
    let isWritten = own === undefined || (await this.#writeRow(own, transactions, isTimeOnly));
    const rests = { server, headerVersion: own?.nextVersion ?? headerVersion };
    const changes = this.#changesOf(rows, mayBeLost);
    for (const change of changes) {
      if (isWritten !== true) break;
      const asked = { ...change, ...rests, betweenMs, mayBeLost };
      const told = channel === undefined ? undefined : { channel, text: textToTell(asked) };
      isWritten = await this.#writeRow({ ...asked, told }, transactions);
      if (isWritten === true) this.#remembered?.noteWritten(asked);
    }
    if (isWritten !== true || !this.#isDoubted) return isWritten;
    const granted = changes.filter(({ moreKeys }) => moreKeys === undefined);
    return granted.length === 0 || this.#isKept(granted, transactions);
  }

  /**
   * A pool may hand out a connection on which the application began a transaction after our read,
   * and may roll it back. Where no server tells whether it is committed, a lease is read once more:
   * others see it then, and in the same transaction the read is refused. A counter that was
   * written by others meanwhile tells nothing.
   */
  async #isKept(
    granted: readonly OwnChange[],
    transactions: readonly string[],
  ): Promise<true | undefined> {
    const committed = await this.#commits.read({ keys: transactions });
    if (committed !== undefined) {
      const areCommitted = transactions.every((id) => committed.has(id));
      return (areCommitted && transactions.length > 0) || undefined;
    }
    return this.#kind !== 'registry' || this.#isFound(granted);
  }

  async #isFound(leases: readonly OwnChange[]): Promise<true | undefined> {
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

  /** A statement of the operator. */
  run(sql: string): Promise<void> {
    return this.#session.ordered(sql);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /**
   * @param transactions gets the one that wrote, where the server tells it
   * @param isEnough where it has been written already, or what follows will be refused
   */
  async #writeRow(
    change: SqlChange,
    transactions: string[],
    isEnough = false,
  ): Promise<boolean | undefined> {
    const written = await this.#session.written((statements) => statements.write(change));
    if (written === undefined) return undefined;
    const { count, transaction } = written;
    if (transaction !== undefined) transactions.push(transaction);
    return isEnough || count === 1 + (change.moreKeys?.length ?? 0);
  }

  /** It is undefined where the header stays as it is. */
  #headerChange(write: RowWrite): SqlChange | undefined {
    const { header: row, headerVersion: version, headerNumber, isTimeOnly, server } = write;
    if (row === undefined) return undefined;
    const own = { row, version, headerVersion: undefined, server };
    if (version === undefined) return { ...own, nextVersion: versionAfter(version) };
    if (isTimeOnly === true) {
      return { ...own, nextVersion: version, numberIs: { sign: '<', number: row.number } };
    }
    const numberIs = { sign: '=', number: headerNumber } as const;
    return { ...own, nextVersion: versionAfter(version), numberIs };
  }

  /** Rows that are made for later come in one step, all the others one by one. */
  #changesOf(rows: readonly RowChange[], mayBeLost?: boolean): OwnChange[] {
    const isBlank = ({ row, version }: RowChange) =>
      this.#kind === 'registry' && version === undefined && row.number === 0n;
    const [blank, ...more] = rows.filter(isBlank);
    const own = (change: RowChange) => this.#own(change, mayBeLost);
    const others = rows.filter((change) => !isBlank(change)).map(own);
    if (blank === undefined) return others;
    return [{ ...own(blank), moreKeys: more.map(({ row }) => row.key) }, ...others];
  }

  /** A worker ID rests on the header, whose versions never come again; its own count its writes. */
  #own({ row, version }: RowChange, mayBeLost?: boolean): OwnChange {
    const isCounted = this.#kind === 'registry' && row.key !== HEADER_KEY;
    const nextVersion = isCounted ? (version ?? 0) + 1 : versionAfter(version, mayBeLost);
    return { row, version, nextVersion };
  }
}

type OwnChange = Omit<SqlChange, 'headerVersion' | 'server'>;

/** A row that is made again must not begin with a version that it ever had before. */
const START_VERSION_BITS = 40;
/** Nor may one of an older copy come to a version that was read before it was restored. */
const STEP_MAX = 2 ** 20;
/** Some centuries of steps; then it begins again. */
const VERSION_MAX = 2 ** 52;

/** Of a write that may be lost it is odd: no grant has it that comes in its place. */
function versionAfter(version: number | undefined, mayBeLost = false): number {
  const isNew = version === undefined || version > VERSION_MAX;
  const next = isNew ? randomInt(1, 2 ** START_VERSION_BITS) : version + randomInt(1, STEP_MAX);
  return (next % 2 === 1) === mayBeLost ? next : next + 1;
}

/*
 * Rows of locks as they were last read, written or told of, so that whoever releases a lock, or is
 * told of a release, writes without reading first.
 *
 * Guarantee: their number is bounded, and nothing depends on them: each write names the versions
 * that it rests on, and one by a row that was changed since is refused.
 */

const REMEMBERED_COUNT = 1024;
/** A message has room for 8000 bytes. */
const TOLD_BYTES_MAX = 7500;

class RememberedRows {
  readonly #rows = new Map<string, StoredRow>();
  #header: StoredRow | undefined;
  #server = '';
  /** The latest time of the server that was seen. */
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
    const { key, number, text: of, ...rest } = fieldsIn(text) as unknown as Told;
    const { version, headerVersion, server, timeMs } = rest;
    const position = numberIn(number);
    if (!isWhole({ key, of, version, timeMs }, ['key', 'of'], ['version', 'timeMs'])) return;
    if (position === undefined || !this.#isBeside(server, headerVersion)) return;
    this.#timeMs = Math.max(this.#timeMs, timeMs);
    const isNews = () => (this.#rows.get(key)?.version ?? 0) <= version;
    if (isNews()) this.#note({ key, number: position, version, text: of });
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

interface Told extends Omit<StoredRow, 'number'> {
  readonly number: string;
  readonly headerVersion: number;
  readonly server: string;
  readonly timeMs: number;
}

/** JSON without its end, where the server puts its time; of a row that is too long no fact. */
function textToTell({ row, nextVersion: version, headerVersion, server }: SqlChange): string {
  const { key, number, text } = row;
  const facts = { key, number: String(number), version, text, headerVersion, server };
  const begin = JSON.stringify(facts).slice(0, -1);
  return `${Buffer.byteLength(begin) > TOLD_BYTES_MAX ? '{"key":0' : begin},"timeMs":`;
}
