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
import type { KeyedChange, RowChange, SqlTable, Statements } from './dialect.js';

/** How the columns of name and number are called. */
export const KEYED_COLUMNS = {
  counters: { key: 'counter', number: 'next' },
  locks: { key: 'lock_name', number: 'forgettable' },
} as const;

/** As much as a process locks in a minute. */
const SWEPT_ROWS = 5000;

export abstract class KeyedStatements implements Statements {
  /** Of the row that is updated. */
  protected readonly updated: string = '';

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
    return { sql: this.telling(sql, false), params: binder.params };
  }

  abstract read(question: SliceQuestion): Statement;
  abstract page(after: number, rowCount: number): Statement;
  abstract ceilings(min: number, max: number): Statement;
  abstract write(change: RowChange): Statement;
  abstract writtenCount(answer: unknown): number;
  abstract check(row: SqlRow): void;
  abstract checkPrimary(row: SqlRow): void;
  protected abstract binder(): Binder;
  /** Time, server and whatever else is checked, as columns of one row. */
  protected abstract moment(binder: Binder): string;
  /** True on the server that was read, where the write will last. */
  protected abstract standsOn(server: string, binder: Binder): string;
  /** A statement that writes, so that its answer tells of how many rows. */
  protected abstract telling(write: string, isInsert: boolean): string;
  /** A decimal text as 64 bits, and back: as a double it would be off by some. */
  protected abstract integer(text: string): string;
  protected abstract digits(column: string): string;

  /** True where a number that was granted and is then lost is granted again. */
  protected get losesNothing(): boolean {
    return this.place.holds === 'counters' && this.place.lossWindowMs === 0;
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
    const { nextVersion, text, server, onlyWith } = change;
    const { key, number } = this.columns;
    const columns = ['namespace', key, 'version', number, 'data'].join(', ');
    const name = [of(namespace), of(change.key), of(nextVersion)];
    const values = [...name, this.integer(of(String(change.number))), of(text)].join(', ');
    const from = `(SELECT 1 AS one) i${onlyWith === undefined ? '' : `, ${table} h`}`;
    const where = [
      ...(onlyWith === undefined ? [] : [this.isOther(onlyWith, binder)]),
      this.standsOn(server, binder),
    ];
    const insert = `INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from}`;
    return this.telling(`${insert} WHERE ${where.join(' AND ')}`, true);
  }

  private updateKeyed(change: KeyedChange, binder: Binder): string {
    const { of } = binder;
    const { table, namespace } = this.place;
    const { nextVersion, text, server, version, onlyWith } = change;
    const { key, number } = this.columns;
    const beside = this.beside(onlyWith, binder);
    const own = this.updated;
    const set = [
      `${own}version = ${of(nextVersion)}`,
      `${own}${number} = ${this.integer(of(String(change.number)))}`,
      `${own}data = ${of(text)}`,
    ];
    const where = [
      `${own}namespace = ${of(namespace)}`,
      `${own}${key} = ${of(change.key)}`,
      `${own}version = ${of(version!)}`,
      ...(onlyWith === undefined || beside !== '' ? [] : [this.hasOther(onlyWith, binder)]),
      this.standsOn(server, binder),
    ];
    const row = own === '' ? table : `${table} w${beside}`;
    return this.telling(`UPDATE ${row} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`, false);
  }
}
