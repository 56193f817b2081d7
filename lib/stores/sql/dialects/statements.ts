/**
 * The statements for a table of rows that all dialects share.
 *
 * Guarantee: one SELECT returns the time, the server and the rows, even if it finds no row. A row
 * is written only if its own version, the header and the server are still those of the read.
 */
import { HEADER_KEY, type SharedQuery } from '../../../rows/row-store.js';
import {
  END,
  nameOf,
  unsigned,
  type Stamps,
  type SqlChange,
  type SqlTable,
  type Statements,
  type Written,
} from './dialect.js';
import type { SqlParameter, SqlRow, Statement } from '../sql-connection.js';

const NAMES = 'namespace, kind, name, version, number, token, data';

/** The number of rows per deletion, small enough not to delay an acquire. */
export const SWEPT_ROWS = 5000;

/** The kind of a statement that reports how many rows it has written. */
export type Writing = 'insert' | 'update' | 'delete';

/** A server keeps every prepared statement, so their number must stay small. */
const ROUND_COUNT = 16;

/** Repeats the last one to fill a round count. */
function padded(texts: readonly string[]): string[] {
  const { length } = texts;
  if (length <= ROUND_COUNT) return [...texts];
  const count = Math.ceil(length / ROUND_COUNT) * ROUND_COUNT;
  return Array.from({ length: count }, (_, at) => texts[Math.min(at, length - 1)]!);
}

/** A value of a statement, or how to take it from a change. */
type Value = SqlParameter | ((change: SqlChange) => SqlParameter);

/** Collects the values of a statement while its text is written, from left to right. */
export class Binder {
  readonly #values: Value[] = [];

  /**
   * @param mark the placeholder of a value, by its number from 1 up
   * @param change the first of the changes that share the text
   */
  constructor(
    private readonly mark: (number: number, value: SqlParameter) => string,
    private readonly change?: SqlChange,
  ) {}

  /** The placeholder for this value. */
  readonly of = (value: Value): string => this.mark(this.#values.push(value), this.#bound(value));

  /** Adds several values and returns their placeholders, separated by commas. */
  readonly list = (values: readonly Value[]): string => values.map(this.of).join(', ');

  params(change = this.change): SqlParameter[] {
    return this.#values.map((value) => this.#bound(value, change));
  }

  #bound(value: Value, change = this.change): SqlParameter {
    return typeof value === 'function' ? value(change!) : value;
  }
}

export abstract class TableStatements implements Statements {
  /** Undefined if rows are not signed. */
  protected readonly stamps: Stamps | undefined = undefined;

  /** The texts of writes by shape: everything about a change except its values. */
  readonly #writes = new Map<string, { readonly sql: string; readonly binder: Binder }>();

  constructor(protected readonly location: SqlTable) {}

  read(query?: SharedQuery): Statement {
    const binder = this.binder();
    const { list } = binder;
    const moment = `(SELECT ${this.moment(binder)}) s`;
    const from = `${moment} LEFT JOIN ${this.location.table} r ON ${this.isOurs(binder, 'r.')}`;
    const select = `SELECT ${[...this.selected, ...this.foundStamp].join(', ')} FROM ${from}`;
    if (query === undefined) return { sql: select, params: binder.params() };
    const keys = padded(query.keys).map((each) => this.nameOf(each));
    const isAsked = `r.name IN (${list(keys)})`;
    const tokens = padded(query.tokens);
    const isNamed = tokens.length === 0 ? '' : ` OR r.token IN (${list(tokens)})`;
    return { sql: `${select} AND (${isAsked}${isNamed})`, params: binder.params() };
  }

  page(from: number, rowCount: number): Statement {
    const binder = this.binder();
    const { of } = binder;
    const moment = this.moment(binder);
    const rows = [
      `SELECT * FROM ${this.location.table} WHERE ${this.isOurs(binder)}`,
      `AND name >= ${of(this.nameOf(String(from)))} AND name <> '${HEADER_KEY}' AND number > 0`,
      `ORDER BY name LIMIT ${rowCount}`,
    ];
    const joined = `(SELECT ${moment}) s LEFT JOIN (${rows.join(' ')}) r ON 1 = 1`;
    return { sql: `SELECT ${this.selected.join(', ')} FROM ${joined}`, params: binder.params() };
  }

  ceilings(min: number, max: number): Statement {
    const binder = this.binder();
    const { of } = binder;
    const [from, to] = [min, max].map((workerId) => this.nameOf(String(workerId)));
    const sql = [
      `SELECT ${this.named.join(', ')} FROM ${this.location.table} r`,
      `WHERE ${this.isOurs(binder, 'r.')} AND r.name BETWEEN ${of(from!)} AND ${of(to!)}`,
    ];
    return { sql: sql.join(' '), params: binder.params() };
  }

  write(change: SqlChange): Statement {
    const { version, numberIs, headerVersion, betweenMs, mayBeLost, channel, moreKeys } = change;
    const isSigned = this.#beginOf(change) !== undefined;
    const facts = [version, headerVersion, betweenMs, channel].map((fact) => fact === undefined);
    const shape = `${String(facts)} ${numberIs?.sign} ${mayBeLost} ${moreKeys?.length} ${isSigned}`;
    let text = this.#writes.get(shape);
    if (text === undefined) {
      const binder = this.binder(change);
      const sql =
        version === undefined ? this.#insert(change, binder) : this.#update(change, binder);
      this.#writes.set(shape, (text = { sql, binder }));
    }
    return { sql: text.sql, params: text.binder.params(change) };
  }

  sweep(below: bigint): Statement {
    const binder = this.binder();
    const forgettable = (binder_: Binder) =>
      `${this.isOurs(binder_)} AND number < ${this.integer(binder_.of(String(below)))}`;
    const sql = this.deletion(forgettable, SWEPT_ROWS, binder);
    return { sql: this.withRowCount(sql, 'delete'), params: binder.params() };
  }

  isOutdated(_row: SqlRow): boolean {
    return false;
  }

  committed(_transactions: readonly string[]): Statement | undefined {
    return undefined;
  }

  // Each dialect implements these.

  abstract written(answer: unknown): Written;
  abstract check(row: SqlRow): void;
  abstract checkPrimary(row: SqlRow): void;
  /** Time, server and all further checks, as columns of one row. */
  protected abstract moment(binder: Binder): string;
  /** True on the server of the read, if the write will be durable or may be lost. */
  protected abstract standsOn(change: SqlChange, binder: Binder): string;
  /** A statement that writes and reports the number of rows. */
  protected abstract withRowCount(write: string, writing: Writing, telling?: string): string;
  /** The clock of the server, in Unix milliseconds. */
  protected abstract readonly time: string;
  /** Converts a decimal string to 64 bits, and back; a double would round it. */
  protected abstract integer(text: string): string;
  protected abstract digits(column: string): string;
  protected abstract joined(...texts: string[]): string;

  // A dialect may override these.

  protected binder(change?: SqlChange): Binder {
    return new Binder(() => '?', change);
  }

  /** Repeats the condition, so that a row that has changed since the selection stays. */
  protected deletion(where: (binder: Binder) => string, rowCount: number, binder: Binder): string {
    const { table } = this.location;
    const some = (binder_: Binder) =>
      `SELECT name FROM ${table} WHERE ${where(binder_)} LIMIT ${rowCount}`;
    return `DELETE FROM ${table} WHERE ${where(binder)} AND name IN (${some(binder)})`;
  }

  /** Finds the row `h` if it is the header. */
  protected header(isHeader: string): string {
    return `SELECT 1 FROM ${this.location.table} h WHERE ${isHeader}`;
  }

  /** The message about an executed write; undefined if there are no messages. */
  protected telling(_binder: Binder): string | undefined {
    return undefined;
  }

  // The parts of statements.

  /** True if a lost number would be granted again. */
  protected get losesNothing(): boolean {
    return this.location.kind === 'counters' && this.location.lossWindowMs === 0;
  }

  /** A table without its primary key accepts no new row, for example while a dump is loaded. */
  protected readonly conflict = ' ON CONFLICT (namespace, kind, name) DO NOTHING';

  /** True for rows of this kind in this namespace. */
  private isOurs({ of }: Binder, qualifier = ''): string {
    const { namespace, kind } = this.location;
    return `${qualifier}namespace = ${of(namespace)} AND ${qualifier}kind = '${kind}'`;
  }

  /** True for the row `h` if it is the header of the read, and was not restored since. */
  protected isHeader({ betweenMs }: SqlChange, binder: Binder): string {
    const { stamps } = this;
    const isOurs = `${this.isOurs(binder, 'h.')} AND h.name = '${HEADER_KEY}'`;
    const isHeader = `${isOurs} AND h.version = ${binder.of((change) => change.headerVersion!)}`;
    if (betweenMs === undefined || stamps === undefined) return isHeader;
    return `${isHeader} AND h.data LIKE ${this.joined(`'%/'`, stamps.found('h'), `'${END}'`)}`;
  }

  #insert(change: SqlChange, binder: Binder): string {
    const { of } = binder;
    const { table, namespace, kind } = this.location;
    const { moreKeys = [], headerVersion } = change;
    const values = [
      of(namespace),
      `'${kind}'`,
      'i.name',
      of(({ nextVersion }) => nextVersion),
      this.integer(of(({ row }) => String(row.number))),
      of(({ row }) => row.token ?? null),
      this.#text(change, binder),
    ];
    const more = moreKeys.map((_, at) => of((each) => this.nameOf(each.moreKeys![at]!)));
    const first = `SELECT ${of(({ row }) => this.nameOf(row.key))} AS name`;
    const keys = [first, ...more.map((each) => `SELECT ${each}`)];
    const header = headerVersion === undefined ? '' : `, ${table} h`;
    const where = [
      ...(headerVersion === undefined ? [] : [this.isHeader(change, binder)]),
      this.standsOn(change, binder),
    ];
    const from = `(${keys.join(' UNION ALL ')}) i${header} WHERE ${where.join(' AND ')}`;
    const select = `SELECT ${values.join(', ')} FROM ${from}`;
    return this.withRowCount(`INSERT INTO ${table} (${NAMES}) ${select}`, 'insert');
  }

  #update(change: SqlChange, binder: Binder): string {
    const { of } = binder;
    const { numberIs, headerVersion, betweenMs, channel } = change;
    const set = [
      `version = ${of(({ nextVersion }) => nextVersion)}`,
      `number = ${this.integer(of(({ row }) => String(row.number)))}`,
      `token = ${of(({ row }) => row.token ?? null)}`,
      `data = ${this.#text(change, binder)}`,
    ];
    const numberOf = (each: SqlChange) => String(each.numberIs!.number);
    const end = (at: 0 | 1) => of((each) => each.betweenMs![at]);
    const where = [
      this.isOurs(binder),
      `name = ${of(({ row }) => this.nameOf(row.key))}`,
      `version = ${of(({ version }) => version!)}`,
      ...(numberIs ? [`number ${numberIs.sign} ${this.integer(of(numberOf))}`] : []),
      ...(headerVersion === undefined
        ? []
        : [`EXISTS (${this.header(this.isHeader(change, binder))})`]),
      this.standsOn(change, binder),
      ...(betweenMs ? [`${this.time} BETWEEN ${end(0)} AND ${end(1)}`] : []),
    ];
    const sql = `UPDATE ${this.location.table} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`;
    return this.withRowCount(sql, 'update', channel && this.telling(binder));
  }

  /** Signs the text of counters and headers, if the database has stamps. */
  #text(change: SqlChange, { of }: Binder): string {
    if (this.#beginOf(change) === undefined) return of(({ row }) => row.text);
    return this.joined(
      of((each) => this.#beginOf(each)!),
      this.stamps!.written,
      `'${END}'`,
    );
  }

  /** The text up to its signature; undefined if it gets none. */
  #beginOf({ row: { key, number, text }, nextVersion: version }: SqlChange): string | undefined {
    const isSigned = this.location.kind === 'counters' || key === HEADER_KEY;
    return isSigned && this.stamps ? unsigned({ version, number, text }) : undefined;
  }

  /** The time and the server, and the row `r`. */
  private get selected(): string[] {
    return ['s.*', ...this.named, 'r.version', 'r.token', 'r.data'];
  }

  private get named(): string[] {
    return ['r.name', `${this.digits('r.number')} AS number`];
  }

  /** The stamp of the row `r`, as a column. */
  private get foundStamp(): string[] {
    return this.stamps === undefined ? [] : [`${this.stamps.found('r')} AS stamp`];
  }

  private nameOf(key: string): string {
    return nameOf(key, this.location.kind);
  }
}
