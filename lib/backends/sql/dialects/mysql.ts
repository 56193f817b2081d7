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
  anotherTime,
  fromReplica,
  inTransaction,
  notFlushed,
  withoutAutocommit,
  withoutEscapes,
} from './refused-session.js';
import { answered, flagOf } from './rows.js';
import {
  FLUSH,
  IDENTITIES,
  MYSQL_DURABLE,
  mysqlHistory,
  mysqlServer,
  stampsOf,
} from './mysql-server.js';
import { variables } from './mysql-variables.js';
import type { Stamps } from '../signature.js';
import { TableStatements } from './table-statements.js';

/** In Unix milliseconds; the moment at which the statement began. */
export const MYSQL_TIME = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";
/** What a session adds to the clock by `SET timestamp`, which SYSDATE does not follow. */
const TIME_BENT = 'TIMESTAMPDIFF(MICROSECOND, SYSDATE(6), NOW(6)) DIV 1000';
const BENT_MS_MAX = 1000;

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
    const offered = await variables(query, ['version', FLUSH, ...IDENTITIES]);
    const isMariadb = /mariadb/i.test(offered.get('version') ?? '');
    const identity = IDENTITIES.find((name) => offered.has(name));
    const isDurable = offered.has(FLUSH) ? MYSQL_DURABLE : 'FALSE';
    const run = mysqlServer(isMariadb, identity);
    const server = place.holds === 'counters' ? mysqlHistory(identity, run, isDurable) : run;
    // Each member of a cluster has made the table at another time.
    const stamps = this.serverSql === undefined ? stampsOf(place.table) : undefined;
    const offer = { server: this.serverSql ?? server, isDurable, isMariadb };
    return new MysqlStatements(place, offer, stamps);
  }

  isConflict(codes: readonly string[]): boolean {
    return codes.some((code) => CONFLICTS.has(code) || CONFLICT_NAMES.has(code));
  }

  advice(query: SqlQuery, holds: SqlTable['holds']): Promise<string[]> {
    return mysqlAdvice(query, holds);
  }

  findings = mysqlFindings;
}

/** What a server offers, as parts of statements. */
interface Offered {
  readonly server: string;
  readonly isDurable: string;
  readonly isMariadb: boolean;
}

class MysqlStatements extends TableStatements {
  protected override readonly updated = 'w.';

  constructor(
    place: SqlTable,
    private readonly offered: Offered,
    protected override readonly stamps: Stamps | undefined,
  ) {
    super(place);
  }

  writtenCount(answer: unknown): number {
    return writtenCountOf(answer);
  }

  check(row: SqlRow): void {
    if (answered(row, 'autocommit') !== 1) throw withoutAutocommit();
    if (flagOf(row, 'in_transaction')) throw inTransaction();
    if (flagOf(row, 'is_unescaped')) throw withoutEscapes();
    const bentMs = answered(row, 'time_bent');
    if (Math.abs(bentMs) > BENT_MS_MAX) throw anotherTime(bentMs);
    if (this.losesNothing && !flagOf(row, 'is_durable')) throw notFlushed();
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
      `${TIME_BENT} AS time_bent`,
      `${this.offered.server} AS server`,
      `@@session.autocommit AS autocommit`,
      `@@session.sql_mode LIKE '%NO_BACKSLASH_ESCAPES%' AS is_unescaped`,
      `@@global.read_only AS is_read_only`,
      `${this.offered.isDurable} AS is_durable`,
      `${this.offered.isMariadb ? '@@session.in_transaction' : '0'} AS in_transaction`,
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
    const { server: own, isDurable, isMariadb } = this.offered;
    const parts = [`${own} = ${of(server)}`, '@@session.autocommit = 1'];
    if (isMariadb) parts.push('@@session.in_transaction = 0');
    if (this.losesNothing) parts.push(isDurable);
    return parts.join(' AND ');
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

  protected joined(...texts: string[]): string {
    return `CONCAT(${texts.join(', ')})`;
  }

  /** Without it a text makes all of it double arithmetic. */
  protected integer(text: string): string {
    return `CAST(${text} AS SIGNED)`;
  }

  protected digits(column: string): string {
    return `CAST(${column} AS CHAR)`;
  }
}
