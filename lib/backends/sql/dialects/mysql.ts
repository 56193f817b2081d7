/**
 * The registry in MariaDB and MySQL.
 *
 * Promise: nothing is taken for written in a session without autocommit, and in MariaDB nothing
 * inside an open transaction. MySQL does not tell a statement whether one is open.
 */
import type { KeyedCondition } from '../../../registry/keyed-rows.js';
import { Binder, writtenCountOf, type SqlQuery, type SqlRow } from '../sql-query.js';
import type { Dialect, RowChange, SqlTable, Statements } from './dialect.js';
import { mysqlAdvice, mysqlFindings } from './mysql-findings.js';
import {
  fromReplica,
  inTransaction,
  notFlushed,
  withoutAutocommit,
  withoutEscapes,
} from './refused-session.js';
import { answered, flagOf } from './rows.js';
import { variables } from './mysql-variables.js';
import { TableStatements } from './table-statements.js';

/** In Unix milliseconds; the moment at which the statement began. */
export const MYSQL_TIME = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";

/** Deadlock, lock wait timeout, record has changed since last read, duplicate key. */
const CONFLICTS: ReadonlySet<string> = new Set(['1213', '1205', '1020', '1062', '40001']);
/** What drivers name instead of the number. */
const CONFLICT_NAMES: ReadonlySet<string> = new Set([
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_CHECKREAD',
  'ER_DUP_ENTRY',
]);

export class MysqlDialect implements Dialect {
  readonly name = 'mysql';
  readonly title = 'MySQL';

  constructor(private readonly serverSql?: string) {}

  async prepare(query: SqlQuery, place: SqlTable): Promise<Statements> {
    const offered = await variables(query, ['version', 'sql_mode', FLUSH, ...IDENTITIES]);
    if (/NO_BACKSLASH_ESCAPES/.test(offered.get('sql_mode') ?? '')) throw withoutEscapes();
    const isMariadb = /mariadb/i.test(offered.get('version') ?? '');
    const identity = IDENTITIES.find((name) => offered.has(name));
    const isFlushed = offered.get(FLUSH) === '1';
    if (place.holds === 'counters' && !isFlushed && place.lossWindowMs === 0) throw notFlushed();
    const isKept = place.holds === 'counters' && isFlushed;
    const server = isKept ? mysqlHistory(identity) : undefined;
    return new MysqlStatements(
      place,
      this.serverSql ?? server ?? mysqlServer(isMariadb, identity),
      isMariadb,
    );
  }

  isConflict(codes: readonly string[]): boolean {
    return codes.some((code) => CONFLICTS.has(code) || CONFLICT_NAMES.has(code));
  }

  advice(query: SqlQuery, holds: SqlTable['holds']): Promise<string[]> {
    return mysqlAdvice(query, holds);
  }

  findings = mysqlFindings;
}

const FLUSH = 'innodb_flush_log_at_trx_commit';
/** MariaDB from 10.5.26, 10.6.19, 10.11.9 and 11.4.3 on has the first, MySQL the second. */
const IDENTITIES = ['server_uid', 'server_uuid', 'datadir'];

/** The server, and since when it has run; both sides of the difference are of one moment. */
export function mysqlServer(isMariadb: boolean, identity = 'datadir'): string {
  const status = `${isMariadb ? 'information' : 'performance'}_schema.global_status`;
  const uptime = `(SELECT VARIABLE_VALUE FROM ${status} WHERE VARIABLE_NAME = 'Uptime')`;
  const started = `CAST(UNIX_TIMESTAMP() - ${uptime} AS SIGNED)`;
  return `CONCAT(@@global.${identity}, '/', ${started})`;
}

/** The server alone, for counters: where each commit is flushed a restart loses nothing. */
export function mysqlHistory(identity: string | undefined): string | undefined {
  // Two servers may have the same folder.
  if (identity === undefined || identity === 'datadir') return undefined;
  return `CAST(@@global.${identity} AS CHAR)`;
}

class MysqlStatements extends TableStatements {
  protected override readonly updated = 'w.';

  constructor(
    place: SqlTable,
    private readonly server: string,
    private readonly isMariadb: boolean,
  ) {
    super(place);
  }

  writtenCount(answer: unknown): number {
    return writtenCountOf(answer);
  }

  check(row: SqlRow): void {
    if (answered(row, 'autocommit') !== 1) throw withoutAutocommit();
    if (flagOf(row, 'in_transaction')) throw inTransaction();
  }

  checkPrimary(row: SqlRow): void {
    if (flagOf(row, 'is_read_only')) throw fromReplica();
  }

  protected binder(): Binder {
    return new Binder(() => '?');
  }

  protected moment(): string {
    return [
      `${MYSQL_TIME} AS time_ms`,
      `${this.server} AS server`,
      `@@session.autocommit AS autocommit`,
      `@@global.read_only AS is_read_only`,
      `${this.isMariadb ? '@@session.in_transaction' : '0'} AS in_transaction`,
    ].join(', ');
  }

  /** A row that is there already is an error, which counts as a conflict: IGNORE hides others. */
  protected insert(change: RowChange, binder: Binder): string {
    const { headerVersion } = change;
    const inserted = this.inserted(change, binder);
    const isHeader = headerVersion === undefined;
    const from = isHeader ? '' : `, ${this.place.table} h`;
    const header = isHeader ? '' : `${this.header(headerVersion, binder)} AND `;
    return `${inserted}${from} WHERE ${header}${this.standsOn(change.server, binder)}`;
  }

  /** MySQL refuses to update a table that a subquery of the statement reads. */
  protected update(change: RowChange, binder: Binder): string {
    const { table } = this.place;
    const { headerVersion: version } = change;
    const join = version === undefined ? '' : ` JOIN ${table} h ON ${this.header(version, binder)}`;
    const assigned = this.assigned(change, binder, 'w.');
    const itself = this.itself(change, binder, 'w.');
    const where = `${itself} AND ${this.standsOn(change.server, binder)}`;
    return `UPDATE ${table} w${join} SET ${assigned} WHERE ${where}`;
  }

  protected standsOn(server: string, { of }: Binder): string {
    const alone = this.isMariadb ? ' AND @@session.in_transaction = 0' : '';
    return `${this.server} = ${of(server)} AND @@session.autocommit = 1${alone}`;
  }

  /** As above. */
  protected override beside(other: KeyedCondition | undefined, binder: Binder): string {
    return other === undefined
      ? ''
      : ` JOIN ${this.place.table} h ON ${this.isOther(other, binder)}`;
  }

  protected override deletion(
    where: (binder: Binder) => string,
    rowCount: number,
    binder: Binder,
  ): string {
    return `DELETE FROM ${this.place.table} WHERE ${where(binder)} LIMIT ${rowCount}`;
  }

  protected telling(write: string): string {
    return write;
  }

  /** Without it a text makes all of it double arithmetic. */
  protected integer(text: string): string {
    return `CAST(${text} AS SIGNED)`;
  }

  protected digits(column: string): string {
    return `CAST(${column} AS CHAR)`;
  }
}
