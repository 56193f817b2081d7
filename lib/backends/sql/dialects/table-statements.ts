/**
 * The statements of a registry that every dialect has in common: those that read, and the parts of
 * those that write.
 *
 * Promise: time, server and rows come from one SELECT, and from one that finds no row as well. A
 * row is written only with its own version, the header's, and on the server that was read.
 */
import { HEADER_ID, type SliceQuestion } from '../../../registry/slice-store.js';
import type { Binder, Statement } from '../sql-query.js';
import type { RowChange } from './dialect.js';
import { KeyedStatements } from './keyed-statements.js';

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
      `SELECT * FROM ${this.place.table}`,
      `WHERE namespace = ${of(this.place.namespace)} AND worker_id > ${of(after)}`,
      `AND (worker_id = ${HEADER_ID} OR ceiling > 0)`,
      `ORDER BY worker_id LIMIT ${rowCount}`,
    ];
    const from = `(SELECT ${this.moment(binder)}) s LEFT JOIN (${rows.join(' ')}) r ON 1 = 1`;
    return { sql: `SELECT s.*, ${COLUMNS} FROM ${from}`, params: binder.params };
  }

  ceilings(min: number, max: number): Statement {
    const { of, params } = this.binder();
    const sql = [
      `SELECT worker_id, ceiling FROM ${this.place.table}`,
      `WHERE namespace = ${of(this.place.namespace)}`,
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
    const first = `${of(this.place.namespace)}, i.worker_id`;
    const rest = `${list([nextVersion, ceilingMs, token])}, ${this.text(change, binder)}`;
    const [id, ...more] = [workerId, ...moreWorkerIds].map((each) => of(each));
    const ids = [`SELECT ${id} AS worker_id`, ...more.map((each) => `SELECT ${each}`)];
    const from = `(${ids.join(' UNION ALL ')}) i`;
    return `INSERT INTO ${this.place.table} (${columns}) SELECT ${first}, ${rest} FROM ${from}`;
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
      `${prefix}namespace = ${of(this.place.namespace)}`,
      `${prefix}worker_id = ${of(workerId)}`,
      `${prefix}version = ${of(version!)}`,
    ];
    if (ceilingIs) parts.push(`${prefix}ceiling ${ceilingIs.sign} ${of(ceilingIs.ms)}`);
    return parts.join(' AND ');
  }

  /** The header's row, as `h`, as it was read. */
  protected header(headerVersion: number, { of }: Binder): string {
    return [
      `h.namespace = ${of(this.place.namespace)}`,
      `h.worker_id = ${HEADER_ID}`,
      `h.version = ${of(headerVersion)}`,
    ].join(' AND ');
  }

  /** True where the header is as it was read; no condition for the header itself. */
  protected headerIsSame({ headerVersion }: RowChange, binder: Binder): string {
    if (headerVersion === undefined) return '';
    const where = this.header(headerVersion, binder);
    return `EXISTS (SELECT 1 FROM ${this.place.table} h WHERE ${where}) AND `;
  }

  private select(more: (binder: Binder) => string): Statement {
    const binder = this.binder();
    const sql = [
      `SELECT s.*, ${[COLUMNS, ...this.foundStamp].join(', ')}`,
      `FROM (SELECT ${this.moment(binder)}) s`,
      `LEFT JOIN ${this.place.table} r`,
      `ON r.namespace = ${binder.of(this.place.namespace)}${more(binder)}`,
    ];
    return { sql: sql.join(' '), params: binder.params };
  }
}
