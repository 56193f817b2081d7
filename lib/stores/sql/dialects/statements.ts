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
import type { Binder, SqlRow, Statement } from '../sql-connection.js';

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

export abstract class TableStatements implements Statements {
  /** Undefined if rows are not signed. */
  protected readonly stamps: Stamps | undefined = undefined;

  constructor(protected readonly location: SqlTable) {}

  read(query?: SharedQuery): Statement {
    const binder = this.binder();
    const { list } = binder;
    const moment = `(SELECT ${this.moment(binder)}) s`;
    const from = `${moment} LEFT JOIN ${this.location.table} r ON ${this.isOurs(binder, 'r.')}`;
    const select = `SELECT ${[...this.selected, ...this.foundStamp].join(', ')} FROM ${from}`;
    const { params } = binder;
    if (query === undefined) return { sql: select, params };
    const keys = padded(query.keys).map((each) => this.nameOf(each));
    const isAsked = `r.name IN (${list(keys)})`;
    const tokens = padded(query.tokens);
    const isNamed = tokens.length === 0 ? '' : ` OR r.token IN (${list(tokens)})`;
    return { sql: `${select} AND (${isAsked}${isNamed})`, params };
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
    return { sql: `SELECT ${this.selected.join(', ')} FROM ${joined}`, params: binder.params };
  }

  ceilings(min: number, max: number): Statement {
    const binder = this.binder();
    const { of, params } = binder;
    const [from, to] = [min, max].map((workerId) => this.nameOf(String(workerId)));
    const sql = [
      `SELECT ${this.named.join(', ')} FROM ${this.location.table} r`,
      `WHERE ${this.isOurs(binder, 'r.')} AND r.name BETWEEN ${of(from!)} AND ${of(to!)}`,
    ];
    return { sql: sql.join(' '), params };
  }

  write(change: SqlChange): Statement {
    const binder = this.binder();
    const isNew = change.version === undefined;
    const sql = isNew ? this.insert(change, binder) : this.update(change, binder);
    return { sql, params: binder.params };
  }

  sweep(below: bigint): Statement {
    const binder = this.binder();
    const forgettable = (binder_: Binder) =>
      `${this.isOurs(binder_)} AND number < ${this.integer(binder_.of(String(below)))}`;
    const sql = this.deletion(forgettable, SWEPT_ROWS, binder);
    return { sql: this.withRowCount(sql, 'delete'), params: binder.params };
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
  protected abstract binder(): Binder;
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
  protected telling(_told: NonNullable<SqlChange['told']>, _binder: Binder): string | undefined {
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
  protected isHeader({ headerVersion, betweenMs }: SqlChange, binder: Binder): string {
    const { stamps } = this;
    const isOurs = `${this.isOurs(binder, 'h.')} AND h.name = '${HEADER_KEY}'`;
    const isHeader = `${isOurs} AND h.version = ${binder.of(headerVersion!)}`;
    if (betweenMs === undefined || stamps === undefined) return isHeader;
    return `${isHeader} AND h.data LIKE ${this.joined(`'%/'`, stamps.found('h'), `'${END}'`)}`;
  }

  private insert(change: SqlChange, binder: Binder): string {
    const { of } = binder;
    const { table, namespace, kind } = this.location;
    const { row, moreKeys = [], nextVersion, headerVersion } = change;
    const values = [
      of(namespace),
      `'${kind}'`,
      'i.name',
      of(nextVersion),
      this.integer(of(String(row.number))),
      of(row.token ?? null),
      this.text(change, binder),
    ];
    const [first, ...more] = [row.key, ...moreKeys].map((each) => of(this.nameOf(each)));
    const keys = [`SELECT ${first} AS name`, ...more.map((each) => `SELECT ${each}`)];
    const header = headerVersion === undefined ? '' : `, ${table} h`;
    const where = [
      ...(headerVersion === undefined ? [] : [this.isHeader(change, binder)]),
      this.standsOn(change, binder),
    ];
    const from = `(${keys.join(' UNION ALL ')}) i${header} WHERE ${where.join(' AND ')}`;
    const select = `SELECT ${values.join(', ')} FROM ${from}`;
    return this.withRowCount(`INSERT INTO ${table} (${NAMES}) ${select}`, 'insert');
  }

  private update(change: SqlChange, binder: Binder): string {
    const { of } = binder;
    const { table } = this.location;
    const { row, nextVersion, version, numberIs, headerVersion, betweenMs } = change;
    const set = [
      `version = ${of(nextVersion)}`,
      `number = ${this.integer(of(String(row.number)))}`,
      `token = ${of(row.token ?? null)}`,
      `data = ${this.text(change, binder)}`,
    ];
    const where = [
      this.isOurs(binder),
      `name = ${of(this.nameOf(row.key))}`,
      `version = ${of(version!)}`,
      ...(numberIs ? [`number ${numberIs.sign} ${this.integer(of(String(numberIs.number)))}`] : []),
      ...(headerVersion === undefined
        ? []
        : [`EXISTS (${this.header(this.isHeader(change, binder))})`]),
      this.standsOn(change, binder),
      ...(betweenMs === undefined
        ? []
        : [`${this.time} BETWEEN ${betweenMs.map(of).join(' AND ')}`]),
    ];
    const sql = `UPDATE ${table} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`;
    const telling = change.told && this.telling(change.told, binder);
    return this.withRowCount(sql, 'update', telling);
  }

  /** Signs the text of counters and headers, if the database has stamps. */
  private text({ row, nextVersion: version }: SqlChange, { of }: Binder): string {
    const { key, number, text } = row;
    const isSigned = this.location.kind === 'counters' || key === HEADER_KEY;
    const begin = isSigned ? unsigned({ version, number, text }) : undefined;
    if (this.stamps === undefined || begin === undefined) return of(text);
    return this.joined(of(begin), this.stamps.written, `'${END}'`);
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
