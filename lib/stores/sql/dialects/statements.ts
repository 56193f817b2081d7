/**
 * The statements for rows under names, counters or locks, that every dialect has in common.
 *
 * Guarantee: time, server and rows come from one SELECT, and from one that finds no row as well. A
 * row is written only with its own version, beside the one it rests on, on the server that was
 * read.
 */
import { HEADER_ID, type SliceQuestion } from '../../../registry/slice-store.js';
import type { KeyedCondition } from '../../../rows/row-store.js';
import { END, unsigned, type SignedRow, type Stamps } from '../signature.js';
import type { Binder, SqlRow, Statement } from '../sql-query.js';
import type { KeyedChange, RowChange, SqlTable, Statements } from './dialect.js';

/** How the columns of name and number are called. */
const KEYED_COLUMNS = {
  counters: { key: 'counter', number: 'next' },
  locks: { key: 'lock_name', number: 'forgettable' },
} as const;

/** No lock has this name. */
const LOCK_HEADER = '|';
/** So many at a time, so that whoever acquires does not wait for it. */
export const SWEPT_ROWS = 5000;

/** What a statement does that is told how many rows it has written. */
export type Writing = 'insert' | 'update' | 'delete';

abstract class KeyedStatements implements Statements {
  /** Of the row that is updated. */
  protected readonly updated: string = '';
  /** Undefined where rows are not signed. */
  protected readonly stamps: Stamps | undefined = undefined;

  constructor(protected readonly location: SqlTable) {}

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
      `LEFT JOIN ${this.location.table} r ON r.namespace = ${of(this.location.namespace)}`,
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
      `namespace = ${of(this.location.namespace)} ` +
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
    return this.location.holds === 'counters' && this.location.lossWindowMs === 0;
  }

  /** A table that has lost its primary key, as while a dump is loaded, takes no new row. */
  protected get conflict(): string {
    const key = this.location.holds === 'registry' ? 'worker_id' : this.columns.key;
    return ` ON CONFLICT (namespace, ${key}) DO NOTHING`;
  }

  protected get columns() {
    const { holds } = this.location;
    return KEYED_COLUMNS[holds === 'locks' ? 'locks' : 'counters'];
  }

  /** The rows that are told twice stand as they were; one that was changed meanwhile stays. */
  protected deletion(where: (binder: Binder) => string, rowCount: number, binder: Binder): string {
    const { table } = this.location;
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
    return `EXISTS (SELECT 1 FROM ${this.location.table} h WHERE ${this.isOther(other, binder)})`;
  }

  protected isOther({ key, version }: KeyedCondition, { of }: Binder): string {
    return [
      `h.namespace = ${of(this.location.namespace)}`,
      `h.${this.columns.key} = ${of(key)}`,
      `h.version = ${of(version)}`,
    ].join(' AND ');
  }

  private insertKeyed(change: KeyedChange, binder: Binder): string {
    const { of } = binder;
    const { table, namespace } = this.location;
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
    const { table, namespace } = this.location;
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
    const isSigned = this.location.holds === 'counters' || key === LOCK_HEADER;
    return isSigned ? this.signed({ version, number, text }, binder) : binder.of(text);
  }
}

/*
 * The statements of a registry that every dialect has in common: those that read, and the parts of
 * those that write.
 *
 * Guarantee: time, server and rows come from one SELECT, and from one that finds no row as well. A
 * row is written only with its own version, the header's, and on the server that was read.
 */

const ROW = ['worker_id', 'version', 'ceiling', 'token', 'data'];
const COLUMNS = ROW.map((column) => `r.${column}`).join(', ');

export abstract class TableStatements extends KeyedStatements {
  read({ workerIds, token }: SliceQuestion): Statement {
    return this.select(({ of, list }) => {
      const ids = `r.worker_id IN (${list([HEADER_ID, ...workerIds])})`;
      return token === undefined ? ` AND ${ids}` : ` AND (${ids} OR r.token = ${of(token)})`;
    });
  }

  page(after: number, rowCount: number): Statement {
    const binder = this.binder();
    const { of } = binder;
    const rows = [
      `SELECT * FROM ${this.location.table}`,
      `WHERE namespace = ${of(this.location.namespace)} AND worker_id > ${of(after)}`,
      `AND (worker_id = ${HEADER_ID} OR ceiling > 0)`,
      `ORDER BY worker_id LIMIT ${rowCount}`,
    ];
    const from = `(SELECT ${this.moment(binder)}) s LEFT JOIN (${rows.join(' ')}) r ON 1 = 1`;
    return { sql: `SELECT s.*, ${COLUMNS} FROM ${from}`, params: binder.params };
  }

  ceilings(min: number, max: number): Statement {
    const { of, params } = this.binder();
    const sql = [
      `SELECT worker_id, ceiling FROM ${this.location.table}`,
      `WHERE namespace = ${of(this.location.namespace)}`,
      `AND worker_id BETWEEN ${of(min)} AND ${of(max)}`,
    ];
    return { sql: sql.join(' '), params };
  }

  write(change: RowChange): Statement {
    const binder = this.binder();
    const isNew = change.version === undefined;
    const sql = isNew ? this.insert(change, binder) : this.update(change, binder);
    return { sql, params: binder.params };
  }

  protected abstract insert(change: RowChange, binder: Binder): string;
  protected abstract update(change: RowChange, binder: Binder): string;

  /** One row for each worker id, which the conditions follow. */
  protected inserted(change: RowChange, binder: Binder): string {
    const { of, list } = binder;
    const { workerId, moreWorkerIds = [], nextVersion, ceilingMs, token } = change;
    const columns = `namespace, ${ROW.join(', ')}`;
    const first = `${of(this.location.namespace)}, i.worker_id`;
    const rest = `${list([nextVersion, ceilingMs, token])}, ${this.text(change, binder)}`;
    const [id, ...more] = [workerId, ...moreWorkerIds].map((each) => of(each));
    const ids = [`SELECT ${id} AS worker_id`, ...more.map((each) => `SELECT ${each}`)];
    const from = `(${ids.join(' UNION ALL ')}) i`;
    return `INSERT INTO ${this.location.table} (${columns}) SELECT ${first}, ${rest} FROM ${from}`;
  }

  protected assigned(change: RowChange, binder: Binder, prefix = ''): string {
    const { nextVersion, ceilingMs, token } = change;
    const values = { version: nextVersion, ceiling: ceilingMs, token };
    const parts = Object.entries(values).map(
      ([column, value]) => `${column} = ${binder.of(value)}`,
    );
    return [...parts, `data = ${this.text(change, binder)}`]
      .map((part) => `${prefix}${part}`)
      .join(', ');
  }

  /** A worker id rests on the header, which is as old as it is. */
  private text({ workerId, nextVersion: version, ceilingMs, text }: RowChange, binder: Binder) {
    if (workerId !== HEADER_ID) return binder.of(text);
    return this.signed({ version, number: ceilingMs, text }, binder);
  }

  protected itself(change: RowChange, { of }: Binder, prefix = ''): string {
    const { workerId, version, ceilingIs } = change;
    const parts = [
      `${prefix}namespace = ${of(this.location.namespace)}`,
      `${prefix}worker_id = ${of(workerId)}`,
      `${prefix}version = ${of(version!)}`,
    ];
    if (ceilingIs) parts.push(`${prefix}ceiling ${ceilingIs.sign} ${of(ceilingIs.ms)}`);
    return parts.join(' AND ');
  }

  /** The header's row, as `h`, as it was read. */
  protected header(headerVersion: number, { of }: Binder): string {
    return [
      `h.namespace = ${of(this.location.namespace)}`,
      `h.worker_id = ${HEADER_ID}`,
      `h.version = ${of(headerVersion)}`,
    ].join(' AND ');
  }

  /** True where the header is as it was read; no condition for the header itself. */
  protected headerIsSame({ headerVersion }: RowChange, binder: Binder): string {
    if (headerVersion === undefined) return '';
    const where = this.header(headerVersion, binder);
    return `EXISTS (SELECT 1 FROM ${this.location.table} h WHERE ${where}) AND `;
  }

  private select(more: (binder: Binder) => string): Statement {
    const binder = this.binder();
    const sql = [
      `SELECT s.*, ${[COLUMNS, ...this.foundStamp].join(', ')}`,
      `FROM (SELECT ${this.moment(binder)}) s`,
      `LEFT JOIN ${this.location.table} r`,
      `ON r.namespace = ${binder.of(this.location.namespace)}${more(binder)}`,
    ];
    return { sql: sql.join(' '), params: binder.params };
  }
}
