/**
 * The statements for rows under names, counters or locks, that every dialect has in common.
 *
 * Promise: time, server and rows come from one SELECT, and from one that finds no row as well. A
 * row is written only with its own version, beside the one it rests on, on the server that was
 * read.
 */
import type { KeyedCondition } from '../../../registry/keyed-rows.js';
import type { SliceQuestion } from '../../../registry/slice-store.js';
import type { Binder, SqlRow, Statement } from '../sql-query.js';
import { END, unsigned, type SignedRow, type Stamps } from '../signature.js';
import type { KeyedChange, RowChange, SqlTable, Statements } from './dialect.js';

/** How the columns of name and number are called. */
export const KEYED_COLUMNS = {
  counters: { key: 'counter', number: 'next' },
  locks: { key: 'lock_name', number: 'forgettable' },
} as const;

/** No lock has this name. */
const LOCK_HEADER = '|';
/** So many at a time, so that whoever acquires does not wait for it. */
export const SWEPT_ROWS = 5000;

/** What a statement does that is told how many rows it has written. */
export type Writing = 'insert' | 'update' | 'delete';

export abstract class KeyedStatements implements Statements {
  /** Of the row that is updated. */
  protected readonly updated: string = '';
  /** Undefined where rows are not signed. */
  protected readonly stamps: Stamps | undefined = undefined;

  constructor(protected readonly place: SqlTable) {}

  readKeyed(keys?: readonly string[]): Statement {
    const binder = this.binder();
    const { of, list } = binder;
    const { key, number } = this.columns;
    const columns = [
      's.*',
      `r.${key} AS stored_key`,
      'r.version',
      `${this.digits(`r.${number}`)} AS stored_number`,
      'r.data',
      ...this.foundStamp,
    ];
    const sql = [
      `SELECT ${columns.join(', ')} FROM (SELECT ${this.moment(binder)}) s`,
      `LEFT JOIN ${this.place.table} r ON r.namespace = ${of(this.place.namespace)}`,
      ...(keys === undefined ? [] : [`AND r.${key} IN (${list(keys)})`]),
    ];
    return { sql: sql.join(' '), params: binder.params };
  }

  writeKeyed(change: KeyedChange): Statement {
    const binder = this.binder();
    const isNew = change.version === undefined;
    const sql = isNew ? this.insertKeyed(change, binder) : this.updateKeyed(change, binder);
    return { sql, params: binder.params };
  }

  sweepKeyed(below: bigint): Statement {
    const binder = this.binder();
    const forgettable = ({ of }: Binder) =>
      `namespace = ${of(this.place.namespace)} ` +
      `AND ${this.columns.number} < ${this.integer(of(String(below)))}`;
    const sql = this.deletion(forgettable, SWEPT_ROWS, binder);
    return { sql: this.telling(sql, 'delete'), params: binder.params };
  }

  abstract read(question: SliceQuestion): Statement;
  abstract page(after: number, rowCount: number): Statement;
  abstract ceilings(min: number, max: number): Statement;
  abstract write(change: RowChange): Statement;
  abstract writtenCount(answer: unknown): number;
  abstract check(row: SqlRow): void;
  abstract checkPrimary(row: SqlRow): void;

  isOutdated(_row: SqlRow): boolean {
    return false;
  }

  protected abstract binder(): Binder;
  /** Time, server and whatever else is checked, as columns of one row. */
  protected abstract moment(binder: Binder): string;
  /** True on the server that was read, where the write will last. */
  protected abstract standsOn(server: string, binder: Binder): string;
  /** A statement that writes, so that its answer tells of how many rows. */
  protected abstract telling(write: string, writing: Writing): string;
  /** A decimal text as 64 bits, and back: as a double it would be off by some. */
  protected abstract integer(text: string): string;
  protected abstract digits(column: string): string;
  protected abstract joined(...texts: string[]): string;

  /** The stamp of the row `r`, as a column. */
  protected get foundStamp(): string[] {
    return this.stamps === undefined ? [] : [`${this.stamps.found} AS stamp`];
  }

  /** A text, signed where it can be. */
  protected signed(row: SignedRow, { of }: Binder): string {
    const text = unsigned(row);
    if (this.stamps === undefined || text === undefined) return of(row.text);
    return this.joined(of(text), this.stamps.written, `'${END}'`);
  }

  /** True where a number that was granted and is then lost is granted again. */
  protected get losesNothing(): boolean {
    return this.place.holds === 'counters' && this.place.lossWindowMs === 0;
  }

  /** A table that has lost its primary key, as while a dump is loaded, takes no new row. */
  protected get conflict(): string {
    const key = this.place.holds === 'registry' ? 'worker_id' : this.columns.key;
    return ` ON CONFLICT (namespace, ${key}) DO NOTHING`;
  }

  protected get columns() {
    const { holds } = this.place;
    return KEYED_COLUMNS[holds === 'locks' ? 'locks' : 'counters'];
  }

  /** The rows that are told twice stand as they were; one that was changed meanwhile stays. */
  protected deletion(where: (binder: Binder) => string, rowCount: number, binder: Binder): string {
    const { table } = this.place;
    const { key } = this.columns;
    const some = (binder_: Binder) =>
      `SELECT ${key} FROM ${table} WHERE ${where(binder_)} LIMIT ${rowCount}`;
    return `DELETE FROM ${table} WHERE ${where(binder)} AND ${key} IN (${some(binder)})`;
  }

  /** What follows the table of an update, so that the row `h` is seen in it. */
  protected beside(_other: KeyedCondition | undefined, _binder: Binder): string {
    return '';
  }

  /** True where the other row is as it was read. */
  protected hasOther(other: KeyedCondition, binder: Binder): string {
    return `EXISTS (SELECT 1 FROM ${this.place.table} h WHERE ${this.isOther(other, binder)})`;
  }

  protected isOther({ key, version }: KeyedCondition, { of }: Binder): string {
    return [
      `h.namespace = ${of(this.place.namespace)}`,
      `h.${this.columns.key} = ${of(key)}`,
      `h.version = ${of(version)}`,
    ].join(' AND ');
  }

  private insertKeyed(change: KeyedChange, binder: Binder): string {
    const { of } = binder;
    const { table, namespace } = this.place;
    const { nextVersion, server, onlyWith } = change;
    const { key, number: numberColumn } = this.columns;
    const columns = ['namespace', key, 'version', numberColumn, 'data'].join(', ');
    const name = [of(namespace), of(change.key), of(nextVersion)];
    const number = this.integer(of(String(change.number)));
    const values = [...name, number, this.keyedText(change, binder)].join(', ');
    const from = `(SELECT 1 AS one) i${onlyWith === undefined ? '' : `, ${table} h`}`;
    const where = [
      ...(onlyWith === undefined ? [] : [this.isOther(onlyWith, binder)]),
      this.standsOn(server, binder),
    ];
    const insert = `INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from}`;
    return this.telling(`${insert} WHERE ${where.join(' AND ')}`, 'insert');
  }

  private updateKeyed(change: KeyedChange, binder: Binder): string {
    const { of } = binder;
    const { table, namespace } = this.place;
    const { nextVersion, server, version, onlyWith } = change;
    const { key, number } = this.columns;
    const beside = this.beside(onlyWith, binder);
    const own = this.updated;
    const set = [
      `${own}version = ${of(nextVersion)}`,
      `${own}${number} = ${this.integer(of(String(change.number)))}`,
      `${own}data = ${this.keyedText(change, binder)}`,
    ];
    const where = [
      `${own}namespace = ${of(namespace)}`,
      `${own}${key} = ${of(change.key)}`,
      `${own}version = ${of(version!)}`,
      ...(onlyWith === undefined || beside !== '' ? [] : [this.hasOther(onlyWith, binder)]),
      this.standsOn(server, binder),
    ];
    const row = own === '' ? table : `${table} w${beside}`;
    return this.telling(
      `UPDATE ${row} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`,
      'update',
    );
  }

  /** A lock rests on the header of all, which is as old as they are. */
  private keyedText({ key, nextVersion: version, number, text }: KeyedChange, binder: Binder) {
    const isSigned = this.place.holds === 'counters' || key === LOCK_HEADER;
    return isSigned ? this.signed({ version, number, text }, binder) : binder.of(text);
  }
}
