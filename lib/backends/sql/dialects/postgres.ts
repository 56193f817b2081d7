/**
 * The registry in PostgreSQL, and in PGlite, which is one.
 *
 * Promise: a write is on disk before it is acknowledged, even where synchronous_commit is off; and
 * inside a transaction that somebody else may roll back nothing counts as written.
 */
import { Binder, oddAnswer, rowsOf } from '../sql-query.js';
import type { SqlParameter, SqlQuery, SqlRow } from '../sql-query.js';
import type { Dialect, RowChange, SqlTable, Statements } from './dialect.js';
import { postgresAdvice, postgresFindings } from './postgres-findings.js';
import { fromReplica, inTransaction } from './refused-session.js';
import { answered, flagOf } from './rows.js';
import { TableStatements } from './table-statements.js';

/** In Unix milliseconds. */
export const POSTGRES_TIME = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const STARTED = 'floor(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text';
const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())';
const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';
/** The cluster, and since when its server has run: a restart and a failover change it. */
export const POSTGRES_SERVER = `${CLUSTER} || '/' || ${STARTED}`;
/** For a user who may not ask for the first half. */
export const POSTGRES_SERVER_UNPRIVILEGED = STARTED;

/** The cluster and the timeline of its history, which a standby that is promoted leaves. */
export const POSTGRES_HISTORY = `${CLUSTER} || '/' || ${TIMELINE}`;
export const POSTGRES_HISTORY_UNPRIVILEGED = TIMELINE;

/** Visible to a later statement of the same transaction alone. */
const MARK = 'snowflake.statement';
const MARKED = `coalesce(current_setting('${MARK}', true), '') <> ''`;
/** A write that is acknowledged and then lost by a crash would be granted twice. */
export const POSTGRES_DURABLY =
  `set_config('synchronous_commit', CASE current_setting('synchronous_commit') ` +
  `WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true) <> ''`;

/** Serialization failure, deadlock, lock not available. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);

export class PostgresDialect implements Dialect {
  readonly name = 'postgres';
  readonly title = 'PostgreSQL';

  constructor(private readonly serverSql?: string) {}

  async prepare(query: SqlQuery, place: SqlTable): Promise<Statements> {
    const { serverSql } = this;
    if (serverSql !== undefined) return new PostgresStatements(place, serverSql, 'false');
    const server = await serverOf(query, place.holds);
    return new PostgresStatements(place, server, 'pg_is_in_recovery()');
  }

  isConflict(codes: readonly string[]): boolean {
    return codes.some((code) => CONFLICTS.has(code));
  }

  advice(query: SqlQuery, holds: SqlTable['holds']): Promise<string[]> {
    return postgresAdvice(query, holds);
  }

  findings = postgresFindings;
}

/** Nothing that was acknowledged is lost by a restart, so that counters need not hear of it. */
async function serverOf(query: SqlQuery, holds: SqlTable['holds']): Promise<string> {
  const sql = `SELECT has_function_privilege('pg_control_system()', 'execute') AS allowed`;
  const [row] = rowsOf(await query(sql, []));
  const isAllowed = flagOf(row, 'allowed');
  if (holds === 'counters') return isAllowed ? POSTGRES_HISTORY : POSTGRES_HISTORY_UNPRIVILEGED;
  return isAllowed ? POSTGRES_SERVER : POSTGRES_SERVER_UNPRIVILEGED;
}

class PostgresStatements extends TableStatements {
  constructor(
    place: SqlTable,
    private readonly server: string,
    private readonly isReplica: string,
  ) {
    super(place);
  }

  writtenCount(answer: unknown): number {
    const [row] = rowsOf(answer);
    if (row === undefined) throw oddAnswer('no row');
    this.check(row);
    return answered(row, 'written');
  }

  check(row: SqlRow): void {
    if (flagOf(row, 'in_transaction')) throw inTransaction();
  }

  checkPrimary(row: SqlRow): void {
    if (flagOf(row, 'is_replica')) throw fromReplica();
  }

  protected binder(): Binder {
    const typeOf = (value: SqlParameter) => (typeof value === 'number' ? 'bigint' : 'text');
    return new Binder((number, value) => `$${number}::${typeOf(value)}`);
  }

  protected moment(): string {
    return [
      `${POSTGRES_TIME} AS time_ms`,
      `${this.server} AS server`,
      `${this.isReplica} AS is_replica`,
      `${MARKED} AS in_transaction`,
      `set_config('${MARK}', 'open', true) AS mark`,
    ].join(', ');
  }

  protected insert(change: RowChange, binder: Binder): string {
    const inserted = this.inserted(change, binder);
    return this.telling(`${inserted} WHERE ${this.rests(change, binder)}`, true);
  }

  protected update(change: RowChange, binder: Binder): string {
    const assigned = this.assigned(change, binder);
    const itself = this.itself(change, binder);
    const where = `${itself} AND ${this.rests(change, binder)}`;
    return this.telling(`UPDATE ${this.place.table} SET ${assigned} WHERE ${where}`, false);
  }

  protected standsOn(server: string, { of }: Binder): string {
    return `${this.server} = ${of(server)} AND ${POSTGRES_DURABLY}`;
  }

  /** One row comes back whatever happened: a driver that swallows an error has none. */
  protected telling(write: string, isInsert: boolean): string {
    const ending = isInsert ? ' ON CONFLICT DO NOTHING' : '';
    const answer = `SELECT count(*)::int AS written, ${MARKED} AS in_transaction FROM changed`;
    return `WITH changed AS (${write}${ending} RETURNING 1) ${answer}`;
  }

  protected integer(text: string): string {
    return `${text}::bigint`;
  }

  protected digits(column: string): string {
    return `${column}::text`;
  }

  private rests(change: RowChange, binder: Binder): string {
    return `${this.headerIsSame(change, binder)}${this.standsOn(change.server, binder)}`;
  }
}
